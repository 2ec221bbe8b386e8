/// Every text that the program says. Each language's table has all of them.
package enum Text: String, CaseIterable, Sendable {
  // Dates and counts.
  case weekdays, months, dateTime, oneEntry, manyEntries, oneAttachment, manyAttachments, oneDevice, manyDevices
  case oneDay, manyDays, oneHour, manyHours, oneMinute, manyMinutes, oneSecond, manySeconds, twoParts

  // Listings.
  case nothingFound, emptyDiary, noTitle, tagsLine, moodLine, weatherLine, placeLine, writtenIn, deviceLine
  case attachmentsHead, attachmentHere, attachmentNotHere, attachmentMissing, copyLine
  case versionsHead, noVersions, versionLine
  case reasonEdited, reasonReceived, reasonMerged, reasonDeleted, reasonImported, reasonResolved

  // Edits.
  case entryAdded, entryChanged, entryUnchanged, entryDeleted, emptyTextDropped
  case emptyTextRefused, textIsTooLong, editorLeftNothing
  case noEditor, editorFailed, draftIsKept, draftIsLeft, textIsNotUTF8, fileIsUnreadable

  // Imports.
  case importDone, importUpdated, importUnchanged, importKept, importSkipped, importWarnings
  case noteIsNoObject, noteHasNoDate, noteDateUnreadable, noteTooLong, noteAppearsTwice, noteIsUnreadable,
    noteTextBroken,
    noteIsNoJournal, noteHasNoText
  case noteZoneUnknown, noteValueUnreadable, noteMediaMissing, noteMediaEmpty, noteMediaDiffers, noteMediaUnreadable,
    noteLinkUnknown
  case importNotFound, importBrokenJSON, importNotAnExport, importBrokenArchive, importUnsafeArchive, importTooLarge
  case importRepeatedName

  // Syncing.
  case syncDone, syncSent, syncReceived, syncWaiting, syncFailed, syncNoAccount, syncPurged, syncBusy, syncRefused
  case syncRefusedMany
  case attachmentsMissing, moreChanges, serverAsksToWait, recordIsTooLong
  case errorNetwork, errorBusy, errorNoAccount, errorAccount, errorQuota, errorTooLarge, errorKeyMissing, errorOther
  case errorNotEncrypted
  case watchStarted, watchEnded, watchOffline, watchOnline
  case changeAdded, changeUpdated, changeDeleted, changeMerged, changeForked, changeDeletionUndone
  case changeAttachmentArrived, changeAttachmentRemoved, changeSent

  case errorUntrusted, errorInsecure, errorCertificates, errorProxyLimit

  // Devices.
  case inviteCode, inviteCandidate, inviteQuestion, inviteDone, inviteRefused, joinFingerprint, joinDone
  case joinWrongCode, joinRefused, joinNotConfirmed, joinHasAccount, accountRefused, serverUnreachable, serverInsecure
  case devicesElsewhere, deviceSince, deviceNamed, deviceNameLater

  // Status.
  case statusNever, statusSynced, statusPending, statusIncomplete, statusUnfinished, statusFirstSync, statusAttention,
    statusNoAccount,
    statusPurged,
    statusRunning
  case statusEntries, statusPendingCounts, statusLastSuccess, statusLastSuccessNever, statusLastError, statusNextTry
  case statusNextTryByHand
  case statusNotEncrypted
  case statusLocked, statusConflicts, statusClockAhead, statusClockBehind, statusRecordRefused, statusHome,
    statusAccount

  // Conflicts.
  case noConflicts, conflictTexts, conflictTextOf, conflictHowTexts, conflictDeletion, conflictValue, conflictHowNote
  case conflictSettled, conflictNotFound, conflictSameDevice
  case fieldText, fieldWritten, fieldStarred, fieldMood, fieldPlace, fieldWeather, fieldCopyOf
  case valueYes, valueNo, valueNone

  // What was not understood.
  case entryNotFound, entryIsAmbiguous, versionNotFound, attachmentNotFound
  case usageNoCommand, usageUnknownCommand, usageUnknownOption, usageValueMissing, usageValueUnwanted
  case usageExclusive, usageRepeated, usageWordMissing, usageTooManyWords, usageValueWrong, usageSeeHelp
  case diaryIsNewer, diaryIsForeign, diaryFailed, diaryIsDamaged, fileFailed, outputFailed, unexpected
  case noDiary, diskIsFull, homeIsReadOnly, diaryIsUnfinished, onlyOutputFailed

  // Handing out.
  case exportDone, exportMissing, exportIsNotEmpty
  case fileOpened, fileIsNotHere, nothingToOpen, openerFailed

  // Progress.
  case progressReading, progressImport, progressExport, progressSync, progressEntries, progressChanges

  // Help.
  case programSummary, helpWords, exitCodes
  case wordID, wordWord, wordPath, wordFolder, wordFile, wordCode, wordName, wordNameItself, wordResolve, wordShell,
    wordCommand
  case optionText, optionAppend, optionDate, optionZone, optionTag, optionUntag, optionMood, optionStar, optionUnstar
  case optionPlace, optionAttach, optionDetach, optionRestore, optionLimit, optionStarred, optionSince, optionUntil
  case optionVersions, optionFormat, optionAgain, optionYes, optionServer, optionReplace, optionKeep, optionFile
  case optionHome, optionJSON
  case variableHome, variableKeys, variableEndpoint, variableCertificates, variableEditor, variablePager,
    variableNoColour, variableOpener
  case helpExport, helpOpen, helpCompletion, helpManual
  case help, helpNew, helpEdit, helpList, helpShow, helpSearch, helpDelete, helpImport, helpSync, helpWatch
  case helpInvite, helpJoin, helpDevices, helpDevice
  case helpStatus, helpConflicts, helpHelp
}
