let englishTable: [Text: String] = [
  .weekdays: "Sun Mon Tue Wed Thu Fri Sat",
  .months: "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
  .dateTime: "{0} {1} {2} {3}, {4}",
  .oneEntry: "{0} entry",
  .manyEntries: "{0} entries",
  .oneAttachment: "{0} attachment",
  .manyAttachments: "{0} attachments",
  .oneDevice: "{0} device",
  .manyDevices: "{0} devices",

  .nothingFound: "Nothing found.",
  .emptyDiary: "The diary is empty. Write the first entry with: {p} new",
  .noTitle: "(no text)",
  .tagsLine: "Tags: {0}",
  .moodLine: "Mood: {0} of 5",
  .weatherLine: "Weather: {0}",
  .placeLine: "Place: {0}",
  .writtenIn: "{0} ({1})",
  .deviceLine: "Last edited on: {0}",
  .attachmentsHead: "Attachments:",
  .attachmentHere: "{0}  {1}, {2} bytes, {3}",
  .attachmentNotHere: "{0}  {1}, {2} bytes, not on this device yet; the next sync brings it",
  .attachmentMissing: "missing file {0}: the import did not contain it",
  .copyLine: "This is the other text of entry {0}. See: {p} conflicts",
  .versionsHead: "Earlier versions (bring one back with: {p} edit {0} --restore NUMBER):",
  .noVersions: "There are no earlier versions.",
  .versionLine: "{0}. {1}, {2}: {3}",
  .reasonEdited: "before an edit here",
  .reasonReceived: "before another device's edit arrived",
  .reasonMerged: "before a merge",
  .reasonDeleted: "before it was deleted",
  .reasonImported: "before an import",
  .reasonResolved: "before a conflict was settled",

  .entryAdded: "Added entry {0}.",
  .entryChanged: "Changed entry {0}.",
  .entryUnchanged: "Nothing changed.",
  .entryDeleted: "Deleted entry {0}. To bring it back: {p} edit {0} --restore {1}",
  .emptyTextDropped: "The text is empty: no entry was made.",
  .emptyTextRefused: "The text is empty: the entry stays as it was. To delete it: {p} delete {0}",
  .textIsTooLong: "The text is too long for other devices. Split it: {p} edit {0}",
  .editorLeftNothing: "The editor left no file. Nothing was changed.",
  .noEditor: "There is no text: give --text TEXT, or --text - for standard input, or set EDITOR.",
  .editorFailed: "The editor ended with code {0}. Nothing was changed; your text is in {1}",
  .draftIsKept: "Your text is in {0}",
  .draftIsLeft: "A text that was not saved is in {0}. To save it: {1} Then delete the file.",
  .textIsNotUTF8: "The text is not UTF-8. Nothing was changed.",
  .fileIsUnreadable: "The file {0} cannot be read: {1}",

  .importDone: "Imported: {0}, {1}.",
  .importUpdated: "Updated from a newer export: {0}.",
  .importUnchanged: "Already there: {0}.",
  .importKept: "Kept, because edited here since: {0}.",
  .importSkipped: "Skipped: {0}.",
  .importWarnings: "Warnings: {0}.",
  .noteIsNoObject: "{0}, entry {1}: not an entry",
  .noteHasNoDate: "entry {0}: it has no date",
  .noteDateUnreadable: "entry {0}: its date cannot be read",
  .noteTooLong: "entry {0}: its text is too long for other devices; split it with {p} edit",
  .noteAppearsTwice: "entry {0}: it appears twice; the last modified one is used, or the first if both are equal",
  .noteIsUnreadable: "{0}: {1}",
  .noteTextBroken: "entry {0}: its {1} has half of a character and is not text",
  .noteIsNoJournal: "{0}: it has no entries",
  .noteHasNoText: "entry {0}: it has no text; imported empty",
  .noteZoneUnknown: "entry {0}: unknown time zone {1}; GMT is used",
  .noteValueUnreadable: "entry {0}: its {1} cannot be read and was left out",
  .noteMediaMissing: "entry {0}: the file of {1} is missing",
  .noteMediaEmpty: "entry {0}: the file of {1} is empty",
  .noteMediaDiffers: "entry {0}: the file of {1} differs from its description in the export; imported as it is",
  .noteMediaUnreadable: "entry {0}: the file of {1} cannot be read",
  .noteLinkUnknown: "entry {0}: the text shows {1}, which is not in the export",
  .importNotFound: "There is no file or folder {0}",
  .importBrokenJSON: "{0} is not valid JSON (line {1}, column {2}), so nothing was imported.",
  .importNotAnExport: "{0} is not a Day One export: it has no journal and no entries. Nothing was changed.",
  .importBrokenArchive: "The archive {0} cannot be read, so nothing was imported: {1}",
  .importUnsafeArchive: "The archive {0} was refused: a file name in it leads outside of the archive: {1}",
  .importRepeatedName: "The archive {0} was refused: it contains {1} twice.",
  .importTooLarge: "The archive {0} was refused: unpacked, it would be far larger than any export.",

  .syncDone: "Synced. Sent {0}, received {1}.",
  .syncSent: "Sent {0}.",
  .syncReceived: "Received {0}.",
  .syncWaiting: "Not sent yet: {0}. They are kept. The next sync sends them.",
  .syncFailed: "Not synced: {0}",
  .syncNoAccount: "Not synced: {0}. See: {1}",
  .syncPurged: """
  Not synced: somebody removed the diary from the server on purpose. It stays on this device.
  To send it again: {p} sync --again
  """,
  .syncBusy: "Another process is syncing this diary.",
  .syncRefused: "The server refused {0}: {1}",
  .syncRefusedMany: "The server refused {0} changes: {1}. They are kept. The first are {2}",
  .attachmentsMissing: "Not downloaded yet: {0}.",
  .moreChanges: "… and {0} more.",
  .serverAsksToWait: "The server asks this device to wait until {0}. Nothing is sent before then.",
  .recordIsTooLong: "Entry {0} is too long to be sent. It stays only on this device. Split it: {p} edit {0}",
  .errorNetwork: "the server cannot be reached: {0}",
  .errorBusy: "the server cannot accept it now: {0}",
  .errorNoAccount: "there is no account on this device",
  .errorAccount: "the server does not give this device an account: {0}",
  .errorQuota: "the account has no space left",
  .errorTooLarge: "it is too large for a record: {0}",
  .errorKeyMissing: "this device cannot read yet what another device wrote",
  .errorNotEncrypted: "your devices did not encrypt what the server has",
  .errorOther: "{0}",
  .errorUntrusted: """
  the server's certificate is not trusted: {0}
  If it is your own, put the file with its issuer's certificate into VIRGA_CA_FILE.
  """,
  .errorInsecure: "no secure connection is possible: {0}",
  .errorCertificates: "the file of certificates cannot be used: {0}",
  .errorProxyLimit: """
  the proxy in front of the server refuses requests of this size. Ask its operator to raise the limit (nginx:
  client_max_body_size). The next sync then sends it
  """,

  .inviteCode: """
  Code: {0}
  On the other device, within ten minutes: {1}
  Waiting …
  """,
  .inviteCandidate: """
  A device asks to join: {0}
  Its fingerprint:       {1}
  """,
  .inviteQuestion: "Does that device show the same fingerprint? Let it join? [y/N]",
  .inviteDone: "{0} has joined.",
  .inviteRefused: "{0} was not let in.",
  .joinFingerprint: """
  This device's fingerprint: {0}
  If the other device asks, confirm the fingerprint there. Waiting …
  """,
  .joinDone: "Joined as {0}; the account has {1}. To bring the diaries together: {p} sync",
  .joinWrongCode: "The code is wrong, used or too old. Get a new one on a device of the account: lanternly invite",
  .joinRefused: "The other device refused.",
  .joinNotConfirmed:
    "Nobody confirmed this device before the code expired. Get a new one on a device of the account: lanternly invite",
  .joinHasAccount:
    "This device already has an account on that server. To leave it and join the other one: {p} join CODE --replace",
  .accountRefused: "The server does not give this device an account: {0}",
  .serverUnreachable: "The server {0} cannot be reached: {1}",
  .serverInsecure: "There is no secure connection to {0}: {1}",
  .devicesElsewhere: "This device uses a service without device accounts.",
  .deviceSince: "since {0}",
  .deviceNamed: "This device is called {0}.",
  .deviceNameLater: "The other devices see the name after the next sync: {0}",
  .watchStarted: "Watching. End with Ctrl-C.",
  .watchEnded: "Ended.",
  .watchOffline: "Not synced: {0}; trying again.",
  .watchOnline: "Synced again.",
  .changeAdded: "new       {0}  {1}",
  .changeUpdated: "changed   {0}  {1}",
  .changeDeleted: "deleted   {0}",
  .changeMerged: "merged    {0}  {1}",
  .changeForked: "conflict  {0}  both texts are kept; the other one is {1}",
  .changeDeletionUndone: "conflict  {0}  deleted on one device, edited on another; the edit is kept",
  .changeAttachmentArrived: "file      {0}  {1}",
  .changeAttachmentRemoved: "file gone {0}",
  .changeSent: "sent      {0}",

  .statusNever: "Not synced yet: everything is only on this device.",
  .statusSynced: "Synced.",
  .statusPending: "Some changes are not sent yet.",
  .statusIncomplete: "Some data are not on this device yet.",
  .statusUnfinished: "The first sync was cut off. The next one continues it.",
  .statusFirstSync: "The first sync is running.",
  .statusAttention: "Needs attention: the last sync failed.",
  .statusNoAccount: "This device has no account. What you write here stays here. See: {0}",
  .statusPurged:
    "Somebody removed the diary from the server on purpose. It is only here. To send it again: {p} sync --again",
  .statusRunning: "Another process is syncing now.",
  .statusEntries: "In the diary: {0}, {1}.",
  .statusPendingCounts: "Waiting: {0} to save, {1} to delete, {2} bytes of files; files to download: {3}.",
  .statusLastSuccess: "Last success: {0}.",
  .statusLastSuccessNever: "Last success: never.",
  .statusLastError: "Last error: {0}, {1}",
  .statusNextTry: "Next try: {0}.",
  .statusNextTryByHand: "Next try: with the next {p} sync, or while {p} watch runs.",
  .statusLocked: """
  Not readable on this device: {0}. The key is missing, or somebody damaged them.
  To get the key, join the account again: lanternly invite on another device, then {p} join CODE --replace
  """,
  .statusNotEncrypted: """
  Not encrypted by your devices: {0}, not shown: {1}
  A web page or the operator of the server wrote it.
  """,
  .statusConflicts: "Open conflicts: {0}. See: {p} conflicts",
  .statusClockAhead: "This device's clock is {0} ahead of the server's. Correct it.",
  .statusClockBehind: "This device's clock is {0} behind the server's. Correct it.",
  .oneDay: "{0} day", .manyDays: "{0} days",
  .oneHour: "{0} hour", .manyHours: "{0} hours",
  .oneMinute: "{0} minute", .manyMinutes: "{0} minutes",
  .oneSecond: "{0} second", .manySeconds: "{0} seconds",
  .twoParts: "{0} and {1}",
  .statusRecordRefused: "Refused by the server: {0}: {1}",
  .statusHome: "Diary: {0} (device {1})",
  .statusAccount: "Account: {0}, {1}",

  .noConflicts: "There are no conflicts.",
  .conflictTexts: "Entry {0} was written on two devices at once. Both texts are kept:",
  .conflictTextOf: "  {0} (entry {1}, from {2}, {3}):",
  .conflictHowTexts: "  Settle it with: {p} conflicts resolve {0} --keep original|copy|both|mine|theirs",
  .conflictDeletion: "Entry {0} was deleted on one device and edited on another; the edit was kept. {1}",
  .conflictValue: "Entry {0}: {1} was changed on two devices. The later change is used, {2} is kept in version {3}.",
  .conflictHowNote: "  To dismiss this: {p} conflicts resolve {0}",
  .conflictSettled: "Settled.",
  .conflictNotFound: "Entry {0} has no open conflict.",
  .conflictSameDevice: "Seen from this device, both texts come from the same side. Choose original, copy or both.",
  .fieldText: "the text",
  .fieldWritten: "the date",
  .fieldStarred: "the star",
  .fieldMood: "the mood",
  .fieldPlace: "the place",
  .fieldWeather: "the weather",
  .fieldCopyOf: "the kept copy",
  .valueYes: "yes",
  .valueNo: "no",
  .valueNone: "nothing",

  .entryNotFound: "There is no entry {0}.",
  .entryIsAmbiguous: "Several entries begin with {0}: {1}",
  .versionNotFound: "Entry {0} has no version {1}.",
  .attachmentNotFound: "Entry {0} has no attachment {1}.",
  .usageNoCommand: "Give a command.",
  .usageUnknownCommand: "There is no command {0}.",
  .usageUnknownOption: "{1} has no option --{0}.",
  .usageValueMissing: "--{0} needs a value.",
  .usageValueUnwanted: "--{0} takes no value.",
  .usageRepeated: "--{0} can be given only once.",
  .usageExclusive: "Use either --{0} or --{1}.",
  .usageWordMissing: "{0} needs an argument.",
  .usageTooManyWords: "{1} does not take {0}.",
  .usageValueWrong: "{1} is not a value for --{0}.",
  .usageSeeHelp: "See: lanternly help {0}",
  .diaryIsNewer: "A later version of this program wrote the diary {0}. Update the program.",
  .diaryIsForeign: "The file {0} belongs to another program.",
  .diaryFailed: "The diary {0} cannot be used: {1}",
  .diaryIsDamaged: """
  The diary {0} is damaged: {1}.
  Put it back from a backup. Or move it away, with all files whose names begin with its name. Then get what was synced
  with: {p} sync
  """,
  .fileFailed: "{0}: {1}",
  .outputFailed: "The output could not be written.",
  .diaryIsUnfinished: """
  The folder {0} is read-only, and its diary was not closed before. Copy the folder to a place where you can write, and
  read the copy with --home.
  """,
  .onlyOutputFailed: "The command was done, but its output could not be written.",
  .noDiary: "There is no diary in {0}. To make it, write the first entry: {p} new",
  .diskIsFull: "There is no space left on the disk of {0}",
  .homeIsReadOnly: "The folder {0} is read-only: nothing can be written there.",
  .unexpected: "Something unexpected happened: {0}",

  .exportDone: "Exported: {0}, {1}, to {2}",
  .exportMissing: "Not exported, because they are not on this device: {0}. A sync may bring them.",
  .exportIsNotEmpty: "The folder {0} is not empty. Give another one.",
  .fileOpened: "Opened {0}.",
  .fileIsNotHere: "The file {0} is not on this device yet. The next sync brings it.",
  .nothingToOpen: "Entry {0} has no files.",
  .openerFailed: "{0} ended with code {1}. The file is {2}. To use another program, set LANTERNLY_OPENER.",

  .progressReading: "Reading",
  .progressImport: "Importing",
  .progressExport: "Exporting",
  .progressSync: "Syncing",
  .progressEntries: "entries",
  .progressChanges: "changes",

  .programSummary: "A diary for the terminal that syncs between your devices.",
  .helpWords: "Usage|Options|Commands|[options]|Print this and exit.",
  .exitCodes: """
  0 done
  1 failed
  2 not understood
  3 not found
  4 unusable import
  5 not synced
  6 no account
  7 busy
  """,
  .wordID: "ID",
  .wordWord: "WORD",
  .wordPath: "PATH",
  .wordFolder: "FOLDER",
  .wordFile: "FILE",
  .wordCode: "CODE",
  .wordName: "NAME",
  .wordNameItself: "name",
  .wordResolve: "resolve",
  .wordShell: "SHELL",
  .wordCommand: "COMMAND",
  .optionText: "TEXT|The text; - is standard input.",
  .optionAppend: "TEXT|A text to add to the entry's; - is standard input.",
  .optionDate: "WHEN|The date of the entry: 2026-11-30, or \"2026-11-30 18:05\".",
  .optionZone: "ZONE|The time zone, such as Europe/Madrid. Default: this machine's.",
  .optionTag: "TAG|A tag.",
  .optionUntag: "TAG|A tag to remove.",
  .optionMood: "MOOD|1 to 5, or none.",
  .optionStar: "Add a star.",
  .optionUnstar: "Remove the star.",
  .optionPlace: "NAME|The name of the place.",
  .optionAttach: "FILE|A file to add. It is copied into the diary.",
  .optionDetach: "FILE|A file to remove from the entry.",
  .optionRestore: "NUMBER|Bring back an earlier version.",
  .optionLimit: "N|Show at most this many.",
  .optionStarred: "Only entries with a star.",
  .optionSince: "DAY|Only entries from that day or later.",
  .optionUntil: "DAY|Only entries from that day or earlier.",
  .optionVersions: "List the earlier versions.",
  .optionFormat: "FORMAT|Only json or only markdown. Default: both.",
  .optionAgain: "Send a diary that somebody removed from the server on purpose.",
  .optionYes: "Do not ask.",
  .optionServer: "URL|The server. It is remembered.",
  .optionReplace: "Leave this device's present account on the server.",
  .optionKeep: "WHICH|Which text stays: original, copy, both, mine or theirs.",
  .optionFile: "FILE|Write them to this file.",
  .optionHome: "DIR|The diary's folder. Default: $LANTERNLY_HOME, then ~/.lanternly.",
  .optionJSON: "Print JSON.",
  .variableHome: "The diary's folder, if not ~/.lanternly.",
  .variableKeys: "The folder of this device's key and account. Default: ~/.virga, or virga in the diary's folder.",
  .variableEndpoint: "The server's address.",
  .variableCertificates: "A file with the trusted certificates, in PEM form.",
  .variableEditor: "The editor for texts.",
  .variablePager: "The program that shows long output page by page.",
  .variableNoColour: "Print no colours.",
  .variableOpener: "The program that opens files. Default: xdg-open.",
  .helpExport: """
  Writes the diary into a new folder: Journal.json in the form of a Day One export, a Markdown file for each entry, and
  the photos and other files. Day One and lanternly import can read Journal.json.
  """,
  .helpOpen: """
  Opens the files of an entry, or only those that you name, with the desktop's programs.
  """,
  .helpCompletion: """
  Prints the completions of bash, zsh or fish.
  For bash: lanternly completion bash --file ~/.local/share/bash-completion/completions/lanternly
  """,
  .helpManual: """
  Writes the manual pages into a folder. To read one: man FOLDER/lanternly.1
  """,
  .help: """
  Lanternly, a diary for the terminal. It works without a network and without a login. Your devices sync through
  your own server.

  Usage: lanternly [--home DIR] COMMAND [OPTIONS]

  {0}

  --home DIR   The diary's folder (default: $LANTERNLY_HOME or ~/.lanternly). Each folder is a device.
  --json       For scripts: list, search, show, status, conflicts, import, sync.
  Name an entry by the first characters of its name. LC_ALL, LC_MESSAGES or LANG choose English or Spanish.
  Exit codes: 0 done, 1 failed, 2 not understood, 3 not found, 4 unusable import, 5 not synced, 6 no account, 7 busy.
  """,
  .helpNew: """
  Writes an entry. Without --text, the text comes from standard input, or you write it in $VISUAL or $EDITOR.
  WHEN looks like 2026-11-30 or "2026-11-30 18:05", in ZONE (default: this machine's).
  """,
  .helpEdit: """
  Changes an entry. Without options, the text opens in $VISUAL or $EDITOR. --restore brings back an earlier
  version; lanternly show ID --versions lists them.
  """,
  .helpList: """
  Lists entries, the latest first. Dates and times are in each entry's own time zone.
  """,
  .helpShow: """
  Shows an entry with its attachments, or its earlier versions.
  """,
  .helpSearch: """
  Finds entries with all the words in their text, tags or place. Case and accents do not matter.
  """,
  .helpDelete: """
  Deletes entries on all devices. If another device has edited one in the meantime, the edit is kept, and you are told.
  """,
  .helpImport: """
  Imports a Day One export: a folder, a JSON file, a ZIP file, a bundle of the classic app or a .doentry file.
  Importing again changes nothing. Entries edited here are kept, unless the export is newer.
  """,
  .helpSync: """
  Sends pending changes and receives new ones. The server comes from VIRGA_ENDPOINT or from the account's settings.
  --again sends a diary that somebody removed from the server on purpose.
  """,
  .helpWatch: """
  Keeps syncing and shows changes as they arrive. If the server is away, it waits.
  """,
  .helpInvite: """
  Shows a code that lets another device join this account. Asks before it lets the device in. --yes lets the first
  device in without asking.
  """,
  .helpJoin: """
  Joins the account of the device that shows CODE. --server gives the server, which is remembered. --replace leaves this
  device's present account there.
  """,
  .helpDevices: """
  Lists the devices of the account. A star marks this device. To remove one: virga account remove
  """,
  .helpDevice: """
  Shows the name that other devices see, or changes it. If another device has the name, a number is added.
  """,
  .helpStatus: """
  Shows pending changes, the last successful sync, the last error and the next try.
  """,
  .helpConflicts: """
  Lists conflicts: two devices changed one entry at the same time. For two texts, ID is the copy, and --keep says which
  text stays: the entry's own (original), the copy's (copy), both as two entries (both), the one from this device (mine)
  or from the other device (theirs). The other text stays among the versions. Other notes need no --keep.
  """,
  .helpHelp: """
  Explains a command, or lists all commands.
  """,
]
