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
  .deviceLine: "Last written on: {0}",
  .attachmentsHead: "Attachments:",
  .attachmentHere: "{0}  {1}, {2} bytes, {3}",
  .attachmentNotHere: "{0}  {1}, {2} bytes, not here yet; it comes with the next sync",
  .attachmentMissing: "missing file {0}: it did not come with what the text was imported from",
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
  .textIsTooLong: "The text is too long to be sent to other devices. Split it: {p} edit {0}",
  .editorLeftNothing: "The editor left no file behind. Nothing was changed.",
  .noEditor: "There is no text: give --text TEXT, or --text - for standard input, or set EDITOR.",
  .editorFailed: "The editor ended with code {0}. Nothing was changed; your text is in {1}",
  .draftIsKept: "Your text is in {0}",
  .draftIsLeft: "A text that was not saved is in {0}. To save it: {1} Then delete the file.",
  .textIsNotUTF8: "The text is not in UTF-8. Nothing was changed.",
  .fileIsUnreadable: "The file {0} cannot be read: {1}",

  .importDone: "Imported: {0}, {1}.",
  .importUpdated: "Brought up to date from a newer export: {0}.",
  .importUnchanged: "Already there: {0}.",
  .importKept: "Edited here since and kept: {0}.",
  .importSkipped: "Skipped: {0}.",
  .importWarnings: "Warnings: {0}.",
  .noteIsNoObject: "{0}, entry {1}: not an entry",
  .noteHasNoDate: "entry {0}: it has no date",
  .noteDateUnreadable: "entry {0}: its date cannot be read",
  .noteTooLong: "entry {0}: its text is too long to be sent to other devices; split it with {p} edit",
  .noteAppearsTwice: "entry {0}: it appears twice; the one modified last is used, of equals the first",
  .noteIsUnreadable: "{0}: {1}",
  .noteTextBroken: "entry {0}: what it has as {1} holds signs that are no text (half of a character)",
  .noteIsNoJournal: "{0}: it has no entries",
  .noteHasNoText: "entry {0}: it has no text; imported empty",
  .noteZoneUnknown: "entry {0}: unknown time zone {1}; GMT is used",
  .noteValueUnreadable: "entry {0}: what it has as {1} cannot be read and was left out",
  .noteMediaMissing: "entry {0}: the file of {1} is missing",
  .noteMediaEmpty: "entry {0}: the file of {1} is empty",
  .noteMediaDiffers: "entry {0}: the file of {1} is not the one that the export describes; imported as it is",
  .noteMediaUnreadable: "entry {0}: the file of {1} cannot be read",
  .noteLinkUnknown: "entry {0}: the text shows {1}, which the export does not hold",
  .importNotFound: "There is no file or folder {0}",
  .importBrokenJSON: "{0} is not valid JSON (line {1}, column {2}), so nothing was imported.",
  .importNotAnExport: "{0} is not a Day One export: it holds no journal and no entries. Nothing was changed.",
  .importBrokenArchive: "The archive {0} cannot be read, so nothing was imported: {1}",
  .importUnsafeArchive: "The archive {0} was refused, because of a name in it that leads outside: {1}",
  .importRepeatedName: "The archive {0} was refused: it holds {1} twice.",
  .importTooLarge: "The archive {0} was refused: it would unpack to far more than an export holds.",

  .syncDone: "Synced. Sent {0}, received {1}.",
  .syncSent: "Sent {0}.",
  .syncReceived: "Received {0}.",
  .syncWaiting: "Still to be sent: {0}. They are kept, and go with the next sync.",
  .syncFailed: "Not synced: {0}",
  .syncNoAccount: "Not synced: {0}. See: {1}",
  .syncPurged: """
  Not synced: the diary was taken off the server on purpose. It stays on this device.
  To send it again: {p} sync --again
  """,
  .syncBusy: "Another process is syncing this diary.",
  .syncRefused: "The server refused {0}: {1}",
  .syncRefusedMany: "The server refused {0} changes: {1}. They are kept; the first are {2}",
  .attachmentsMissing: "Still to be downloaded: {0}.",
  .moreChanges: "… and {0} more.",
  .serverAsksToWait: "The server asks to wait until {0}; nothing is sent before.",
  .recordIsTooLong: "Entry {0} is too long to be sent. It is kept here only; split it: {p} edit {0}",
  .errorNetwork: "the server cannot be reached: {0}",
  .errorBusy: "the server cannot take it now: {0}",
  .errorNoAccount: "there is no account on this device",
  .errorAccount: "the server gives this device no account: {0}",
  .errorQuota: "there is no space left in the account",
  .errorTooLarge: "it is too large for a record: {0}",
  .errorKeyMissing: "what another device wrote there cannot be read here yet",
  .errorNotEncrypted: "what the server has there was not encrypted by your devices",
  .errorOther: "{0}",
  .errorUntrusted: """
  the server's certificate is not trusted: {0}
  If it is your own, name the file with the certificate of who signed it in VIRGA_CA_FILE.
  """,
  .errorInsecure: "no secure connection comes about: {0}",
  .errorCertificates: "the file of certificates cannot be used: {0}",
  .errorProxyLimit: """
  the proxy in front of the server takes no request of this size. Whoever runs it raises its limit (nginx:
  client_max_body_size); the next sync sends it
  """,

  .inviteCode: """
  Code: {0}
  On the other device, within ten minutes: {1}
  Waiting …
  """,
  .inviteCandidate: """
  A device wants in: {0}
  Its fingerprint:   {1}
  """,
  .inviteQuestion: "Does it show the same fingerprint, and may it join? [y/N]",
  .inviteDone: "{0} is in.",
  .inviteRefused: "{0} was not let in.",
  .joinFingerprint: """
  This device's fingerprint: {0}
  Confirm it on the other device, if that asks. Waiting …
  """,
  .joinDone: "Joined as {0}; the account has {1}. To bring the diaries together: {p} sync",
  .joinWrongCode: "The code is wrong, used or too old. A new one: lanternly invite, on a device that is in",
  .joinRefused: "The other device refused.",
  .joinNotConfirmed:
    "Nobody let this device in while the code counted. A new one: lanternly invite, on a device that is in",
  .joinHasAccount: "This device has an account there already. To leave that for the other one: {p} join CODE --replace",
  .accountRefused: "The server gives this device no account: {0}",
  .serverUnreachable: "The server {0} cannot be reached: {1}",
  .serverInsecure: "There is no secure connection to {0}: {1}",
  .devicesElsewhere: "This device uses a service that knows no devices.",
  .deviceSince: "since {0}",
  .deviceNamed: "This device is called {0}.",
  .deviceNameLater: "The other devices hear of the name with the next sync: {0}",
  .watchStarted: "Watching. End with Ctrl-C.",
  .watchEnded: "Ended.",
  .watchOffline: "Not in step: {0}; trying again.",
  .watchOnline: "In step again.",
  .changeAdded: "new       {0}  {1}",
  .changeUpdated: "changed   {0}  {1}",
  .changeDeleted: "deleted   {0}",
  .changeMerged: "merged    {0}  {1}",
  .changeForked: "conflict  {0}  both texts are kept; the other one is {1}",
  .changeDeletionUndone: "conflict  {0}  deleted on one device, edited on another; the edit is kept",
  .changeAttachmentArrived: "file      {0}  {1}",
  .changeAttachmentRemoved: "file gone {0}",
  .changeSent: "sent      {0}",

  .statusNever: "Not synced yet: everything is on this device only.",
  .statusSynced: "Synced.",
  .statusPending: "Changes wait to be sent.",
  .statusIncomplete: "Not all of it is here yet.",
  .statusUnfinished: "The first sync was cut off; the next one goes on with it.",
  .statusFirstSync: "The first sync is under way.",
  .statusAttention: "Needs attention: the last sync failed.",
  .statusNoAccount: "No account for this device; what is written here stays here. See: {0}",
  .statusPurged: "Taken off the server on purpose; it is here only. To send it again: {p} sync --again",
  .statusRunning: "Another process is syncing now.",
  .statusEntries: "In the diary: {0}, {1}.",
  .statusPendingCounts: "Waiting: {0} to save, {1} to delete, {2} bytes of files; files still to come: {3}.",
  .statusLastSuccess: "Last success: {0}.",
  .statusLastSuccessNever: "Last success: never.",
  .statusLastError: "Last error: {0}, {1}",
  .statusNextTry: "Next try: {0}.",
  .statusNextTryByHand: "Next try: with the next {p} sync, or while {p} watch runs.",
  .statusLocked: """
  Cannot be read here: {0}. This device lacks the key, or somebody damaged them.
  To get the key, join the account again: lanternly invite on another device, then {p} join CODE --replace
  """,
  .statusNotEncrypted: """
  Not encrypted by your devices: {0}, not shown: {1}
  A web page or whoever runs the server wrote it.
  """,
  .statusConflicts: "Open conflicts: {0}. See: {p} conflicts",
  .statusClockAhead: "This device's clock is {0} ahead of the server's. Set it right.",
  .statusClockBehind: "This device's clock is {0} behind the server's. Set it right.",
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
  .conflictValue: "Entry {0}: {1} was changed on two devices; the later is used, {2} gave way (version {3}).",
  .conflictHowNote: "  Seen? {p} conflicts resolve {0}",
  .conflictSettled: "Settled.",
  .conflictNotFound: "Entry {0} has no open conflict.",
  .conflictSameDevice: "Both texts come from the same side as seen from here; choose original, copy or both.",
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
  .entryIsAmbiguous: "{0} begins the names of several entries: {1}",
  .versionNotFound: "Entry {0} has no version {1}.",
  .attachmentNotFound: "Entry {0} has no attachment {1}.",
  .usageNoCommand: "What shall be done?",
  .usageUnknownCommand: "There is no command {0}.",
  .usageUnknownOption: "{1} has no option --{0}.",
  .usageValueMissing: "--{0} needs a value.",
  .usageValueUnwanted: "--{0} takes no value.",
  .usageRepeated: "--{0} may be given once.",
  .usageExclusive: "--{0} and --{1} exclude each other.",
  .usageWordMissing: "{0} needs something to work on.",
  .usageTooManyWords: "{1} has no use for {0}.",
  .usageValueWrong: "{1} is no value for --{0}.",
  .usageSeeHelp: "See: lanternly help {0}",
  .diaryIsNewer: "The diary {0} was written by a later version of this program. Update the program.",
  .diaryIsForeign: "The file {0} belongs to another program.",
  .diaryFailed: "The diary {0} cannot be used: {1}",
  .diaryIsDamaged: """
  The diary {0} is damaged: {1}.
  Put it back from a backup; or move it away, with the files beside it whose names begin so, and what was synced comes
  again with: {p} sync
  """,
  .fileFailed: "{0}: {1}",
  .outputFailed: "The output could not be written.",
  .diaryIsUnfinished: """
  The folder {0} is read-only, and its diary was not closed when it came there. Copy the folder to where it can be written,
  and read it there with --home.
  """,
  .onlyOutputFailed: "This was done; only the output could not be written.",
  .noDiary: "There is no diary in {0}. The first entry makes it: {p} new",
  .diskIsFull: "There is no space left on the disk of {0}",
  .homeIsReadOnly: "The folder {0} is read-only: nothing can be written there.",
  .unexpected: "Something unexpected happened: {0}",

  .exportDone: "Exported: {0}, {1}, to {2}",
  .exportMissing: "Not exported, as they are not on this device: {0}. A sync may bring them.",
  .exportIsNotEmpty: "The folder {0} is not empty. Name another one.",
  .fileOpened: "Opened {0}.",
  .fileIsNotHere: "The file {0} is not on this device yet; it comes with the next sync.",
  .nothingToOpen: "Entry {0} has no files.",
  .openerFailed: "{0} ended with code {1}. The file is {2}; LANTERNLY_OPENER names another program.",

  .progressReading: "Reading",
  .progressImport: "Importing",
  .progressExport: "Exporting",
  .progressSync: "Syncing",
  .progressEntries: "entries",
  .progressChanges: "changes",

  .programSummary: "A diary for the terminal, whose devices keep in step.",
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
  .optionAppend: "TEXT|A text to put behind that of the entry; - is standard input.",
  .optionDate: "WHEN|When it was: 2026-11-30, or \"2026-11-30 18:05\".",
  .optionZone: "ZONE|The time zone, as Europe/Madrid. Default: this machine's.",
  .optionTag: "TAG|A tag.",
  .optionUntag: "TAG|A tag to remove.",
  .optionMood: "MOOD|1 to 5, or none.",
  .optionStar: "Give it a star.",
  .optionUnstar: "Take its star away.",
  .optionPlace: "NAME|The name of the place.",
  .optionAttach: "FILE|A file to copy into the diary.",
  .optionDetach: "FILE|A file to take out of the entry.",
  .optionRestore: "NUMBER|Bring back an earlier version.",
  .optionLimit: "N|Show at most so many.",
  .optionStarred: "Only entries with a star.",
  .optionSince: "DAY|Only entries of that day or later.",
  .optionUntil: "DAY|Only entries of that day or earlier.",
  .optionVersions: "List the earlier versions.",
  .optionFormat: "FORMAT|Only json or only markdown. Default: both.",
  .optionAgain: "Send a diary that was taken off the server on purpose.",
  .optionYes: "Do not ask.",
  .optionServer: "URL|The server, which is remembered.",
  .optionReplace: "Leave the account that this device has there.",
  .optionKeep: "WHICH|Which text stays: original, copy, both, mine or theirs.",
  .optionFile: "FILE|Write them there instead.",
  .optionHome: "DIR|The diary's folder. Default: $LANTERNLY_HOME, then ~/.lanternly.",
  .optionJSON: "Print JSON.",
  .variableHome: "The diary's folder, if not ~/.lanternly.",
  .variableKeys: "The folder of this device's key and account. Default: ~/.virga, or virga in a folder that was named.",
  .variableEndpoint: "The server's address.",
  .variableCertificates: "A file with the certificates that are trusted, in PEM form.",
  .variableEditor: "The editor in which texts are written.",
  .variablePager: "The program that shows long output a page at a time.",
  .variableNoColour: "Print no colours.",
  .variableOpener: "The program that opens files. Default: xdg-open.",
  .helpExport: """
  Writes the diary into a new folder: Journal.json in the form of Day One's exports, which Day One and lanternly import
  read, a Markdown file for each entry, and the photos and other files.
  """,
  .helpOpen: """
  Opens the files of an entry, or those that are named, with the programs that the desktop has for them.
  """,
  .helpCompletion: """
  Prints the completions of bash, zsh or fish.
  For bash: lanternly completion bash --file ~/.local/share/bash-completion/completions/lanternly
  """,
  .helpManual: """
  Writes the manual pages into a folder. To read one: man FOLDER/lanternly.1
  """,
  .help: """
  Lanternly, a diary for the terminal. It works without a network and without a login; your devices keep in step
  through a server of your own.

  Usage: lanternly [--home DIR] COMMAND [OPTIONS]

  {0}

  --home DIR   The diary's folder (default: $LANTERNLY_HOME or ~/.lanternly). A folder is a device of its own.
  --json       For scripts: list, search, show, status, conflicts, import, sync.
  Entries are named by the first digits of their names. LC_ALL, LC_MESSAGES or LANG choose English or Spanish.
  Exit codes: 0 done, 1 failed, 2 not understood, 3 not found, 4 unusable import, 5 not synced, 6 no account, 7 busy.
  """,
  .helpNew: """
  Writes an entry. Without --text the text is read from standard input, or written in $VISUAL or $EDITOR.
  WHEN is like 2026-11-30 or "2026-11-30 18:05", in ZONE (default: this machine's).
  """,
  .helpEdit: """
  Changes an entry. Without any option the text opens in $VISUAL or $EDITOR. --restore brings back an earlier
  version; lanternly show ID --versions lists them.
  """,
  .helpList: """
  Lists entries, the latest first. Dates and times are those of the entry's own time zone.
  """,
  .helpShow: """
  Shows an entry with its attachments, or its earlier versions.
  """,
  .helpSearch: """
  Finds entries that hold all the words in their text, tags or place; case and accents do not matter.
  """,
  .helpDelete: """
  Deletes entries on all devices. If one was edited elsewhere meanwhile, the edit stays and is told.
  """,
  .helpImport: """
  Takes in a Day One export: a folder, a JSON file, a ZIP file, a bundle of the classic app or a .doentry file.
  Importing again changes nothing; entries edited here are kept unless the export is newer.
  """,
  .helpSync: """
  Sends what waits and receives what is new. The server is that of VIRGA_ENDPOINT or of the account's settings.
  --again sends a diary that was taken off the server on purpose.
  """,
  .helpWatch: """
  Keeps syncing, shows changes as they arrive, and waits for the server if it is away.
  """,
  .helpInvite: """
  Shows a code with which another device can join this one's account, and asks before it lets one in. --yes lets the
  first one in without asking.
  """,
  .helpJoin: """
  Joins the account of the device that shows CODE. --server names the server and is remembered; --replace leaves the
  account that this device has there.
  """,
  .helpDevices: """
  Lists the devices of the account; a star marks this one. To remove one: virga account remove
  """,
  .helpDevice: """
  Says what other devices call this one, or gives it another name. A name that another device has gets a number.
  """,
  .helpStatus: """
  Says what waits to be sent, when a sync last succeeded, what failed last and when the next try is.
  """,
  .helpConflicts: """
  Lists what two devices did to one entry at once. For two texts, ID is the copy and --keep says which stays:
  the entry's own (original), the copy's, both as two entries, or the one written on this device (mine) or on
  the other (theirs). The text that goes stays among the versions. Other notes are settled without --keep.
  """,
  .helpHelp: """
  Explains a command, or lists all.
  """,
]
