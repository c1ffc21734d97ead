; The installer for Windows, for one user and without an administrator:
;     makensis -DVERSION=0.1.0 -DBUNDLE=dist\lamella -DTARGET=dist packaging\windows\lamella.nsi
; Settings and stores are elsewhere (%LOCALAPPDATA%\Lamella) and stay when the program goes.

Unicode true
!include MUI2.nsh
!include FileFunc.nsh

!ifndef VERSION | BUNDLE | TARGET
  !error "VERSION, BUNDLE and TARGET must be given"
!endif

!define NAME "Lamella"
!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\${NAME}"
!define CLASSES "Software\Classes"
!define CAPABILITIES "Software\${NAME}\Capabilities"

Name "${NAME}"
OutFile "${TARGET}/lamella-${VERSION}-windows-setup.exe"
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\${NAME}"
InstallDirRegKey HKCU "Software\${NAME}" "InstallDir"
SetCompressor /SOLID lzma
ManifestDPIAware true
VIProductVersion "${VERSION}.0"
VIAddVersionKey ProductName "${NAME}"
VIAddVersionKey ProductVersion "${VERSION}"
VIAddVersionKey FileVersion "${VERSION}"
VIAddVersionKey FileDescription "Installs ${NAME}"
VIAddVersionKey LegalCopyright "The Lamella contributors"

!ifdef ICON
  !define MUI_ICON "${ICON}"
  !define MUI_UNICON "${ICON}"
!endif
!define MUI_FINISHPAGE_RUN "$INSTDIR\lamellaw.exe"
!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_LICENSE "${BUNDLE}/_internal/lamella/resources/licences.txt"
!insertmacro MUI_PAGE_COMPONENTS
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE English

; A file of the program that is in use cannot be replaced: who installs is asked to close it.
!macro CloseProgram un
Function ${un}CloseProgram
  retry:
    IfFileExists "$INSTDIR\lamellaw.exe" 0 closed
    ClearErrors
    FileOpen $0 "$INSTDIR\lamellaw.exe" a
    IfErrors 0 free
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "Lamella is open. Close it, then go on." /SD IDCANCEL IDRETRY retry
    Abort
  free:
    FileClose $0
  closed:
FunctionEnd
!macroend
!insertmacro CloseProgram ""
!insertmacro CloseProgram "un."

!macro OfferFor suffix
  WriteRegStr HKCU "${CLASSES}\${suffix}\OpenWithProgids" "${NAME}.Table" ""
  WriteRegStr HKCU "${CAPABILITIES}\FileAssociations" "${suffix}" "${NAME}.Table"
!macroend

!macro StopOfferingFor suffix
  DeleteRegValue HKCU "${CLASSES}\${suffix}\OpenWithProgids" "${NAME}.Table"
  DeleteRegKey /ifempty HKCU "${CLASSES}\${suffix}\OpenWithProgids"
  DeleteRegKey /ifempty HKCU "${CLASSES}\${suffix}"
!macroend

; The suffix is Lamella's where it is nobody's.
!macro OwnUnlessTaken suffix
  ReadRegStr $0 HKCR "${suffix}" ""
  StrCmp $0 "" 0 +2
    WriteRegStr HKCU "${CLASSES}\${suffix}" "" "${NAME}.Table"
!macroend

!macro Disown suffix
  ReadRegStr $0 HKCU "${CLASSES}\${suffix}" ""
  StrCmp $0 "${NAME}.Table" 0 +2
    DeleteRegValue HKCU "${CLASSES}\${suffix}" ""
!macroend

Section "Lamella" program
  SectionIn RO
  Call CloseProgram
  ; Modules of an older version must not be found by this one.
  RMDir /r "$INSTDIR\_internal"
  SetOutPath "$INSTDIR"
  File /r "${BUNDLE}/*.*"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  WriteRegStr HKCU "Software\${NAME}" "InstallDir" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "${NAME}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayIcon" "$INSTDIR\lamellaw.exe"
  WriteRegStr HKCU "${UNINSTALL}" "Publisher" "The Lamella contributors"
  WriteRegStr HKCU "${UNINSTALL}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1
  ${GetSize} "$INSTDIR" "/S=0K" $0 $1 $2
  WriteRegDWORD HKCU "${UNINSTALL}" "EstimatedSize" $0
  ; `lamella` in the Run dialog, and `start lamella` in a console; the PATH is the user's own
  WriteRegStr HKCU "Software\Microsoft\Windows\CurrentVersion\App Paths\lamella.exe" "" "$INSTDIR\lamella.exe"
SectionEnd

Section "Start menu" menu
  CreateShortcut "$SMPROGRAMS\${NAME}.lnk" "$INSTDIR\lamellaw.exe"
SectionEnd

Section /o "Desktop" desktop
  CreateShortcut "$DESKTOP\${NAME}.lnk" "$INSTDIR\lamellaw.exe"
SectionEnd

Section "Offer Lamella for tables" types
  WriteRegStr HKCU "${CLASSES}\${NAME}.Table" "" "Table"
  WriteRegStr HKCU "${CLASSES}\${NAME}.Table\DefaultIcon" "" "$INSTDIR\lamellaw.exe,0"
  WriteRegStr HKCU "${CLASSES}\${NAME}.Table\shell\open\command" "" '"$INSTDIR\lamellaw.exe" -- "%1"'
  WriteRegStr HKCU "${CAPABILITIES}" "ApplicationName" "${NAME}"
  WriteRegStr HKCU "${CAPABILITIES}" "ApplicationDescription" "Open, filter and edit tables of any size"
  WriteRegStr HKCU "Software\RegisteredApplications" "${NAME}" "${CAPABILITIES}"
  !insertmacro OfferFor ".parquet"
  !insertmacro OfferFor ".pq"
  !insertmacro OfferFor ".parq"
  !insertmacro OfferFor ".arrow"
  !insertmacro OfferFor ".feather"
  !insertmacro OfferFor ".ipc"
  !insertmacro OfferFor ".arrows"
  !insertmacro OfferFor ".csv"
  !insertmacro OfferFor ".tsv"
  !insertmacro OfferFor ".jsonl"
  !insertmacro OfferFor ".ndjson"
  !insertmacro OfferFor ".json"
  !insertmacro OfferFor ".xlsx"
  !insertmacro OfferFor ".xlsm"
  !insertmacro OfferFor ".xlsb"
  !insertmacro OfferFor ".xls"
  !insertmacro OfferFor ".ods"
  !insertmacro OfferFor ".sqlite"
  !insertmacro OfferFor ".sqlite3"
  !insertmacro OfferFor ".db"
  !insertmacro OfferFor ".db3"
  !insertmacro OfferFor ".duckdb"
  !insertmacro OfferFor ".ddb"
  !insertmacro OfferFor ".geojson"
  !insertmacro OfferFor ".tab"
  !insertmacro OfferFor ".txt"
  !insertmacro OwnUnlessTaken ".parquet"
  !insertmacro OwnUnlessTaken ".pq"
  !insertmacro OwnUnlessTaken ".arrow"
  !insertmacro OwnUnlessTaken ".feather"
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, i 0, i 0)'
SectionEnd

LangString DESC_program ${LANG_ENGLISH} "The program and its command line."
LangString DESC_menu ${LANG_ENGLISH} "An entry in the Start menu."
LangString DESC_desktop ${LANG_ENGLISH} "An icon on the desktop."
LangString DESC_types ${LANG_ENGLISH} "In 'Open with' of Parquet, Arrow, CSV, JSON, Excel, SQLite and DuckDB files."
!insertmacro MUI_FUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${program} $(DESC_program)
  !insertmacro MUI_DESCRIPTION_TEXT ${menu} $(DESC_menu)
  !insertmacro MUI_DESCRIPTION_TEXT ${desktop} $(DESC_desktop)
  !insertmacro MUI_DESCRIPTION_TEXT ${types} $(DESC_types)
!insertmacro MUI_FUNCTION_DESCRIPTION_END

Section "Uninstall"
  Call un.CloseProgram
  RMDir /r "$INSTDIR\_internal"
  Delete "$INSTDIR\lamella.exe"
  Delete "$INSTDIR\lamellaw.exe"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\${NAME}.lnk"
  Delete "$DESKTOP\${NAME}.lnk"
  !insertmacro Disown ".parquet"
  !insertmacro Disown ".pq"
  !insertmacro Disown ".arrow"
  !insertmacro Disown ".feather"
  !insertmacro StopOfferingFor ".parquet"
  !insertmacro StopOfferingFor ".pq"
  !insertmacro StopOfferingFor ".parq"
  !insertmacro StopOfferingFor ".arrow"
  !insertmacro StopOfferingFor ".feather"
  !insertmacro StopOfferingFor ".ipc"
  !insertmacro StopOfferingFor ".arrows"
  !insertmacro StopOfferingFor ".csv"
  !insertmacro StopOfferingFor ".tsv"
  !insertmacro StopOfferingFor ".jsonl"
  !insertmacro StopOfferingFor ".ndjson"
  !insertmacro StopOfferingFor ".json"
  !insertmacro StopOfferingFor ".xlsx"
  !insertmacro StopOfferingFor ".xlsm"
  !insertmacro StopOfferingFor ".xlsb"
  !insertmacro StopOfferingFor ".xls"
  !insertmacro StopOfferingFor ".ods"
  !insertmacro StopOfferingFor ".sqlite"
  !insertmacro StopOfferingFor ".sqlite3"
  !insertmacro StopOfferingFor ".db"
  !insertmacro StopOfferingFor ".db3"
  !insertmacro StopOfferingFor ".duckdb"
  !insertmacro StopOfferingFor ".ddb"
  !insertmacro StopOfferingFor ".geojson"
  !insertmacro StopOfferingFor ".tab"
  !insertmacro StopOfferingFor ".txt"
  DeleteRegKey HKCU "${CLASSES}\${NAME}.Table"
  DeleteRegValue HKCU "Software\RegisteredApplications" "${NAME}"
  DeleteRegKey HKCU "Software\Microsoft\Windows\CurrentVersion\App Paths\lamella.exe"
  DeleteRegKey HKCU "${UNINSTALL}"
  DeleteRegKey HKCU "Software\${NAME}"
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, i 0, i 0)'
SectionEnd
