import Foundation
import VirgaDevices

/// Commands about this device and the others of its account.
extension Lanternly {
  /// The account on the server that is meant.
  private func deviceAccount(server: String? = nil) throws -> DeviceAccount {
    findClient()
    do {
      guard let account = try DeviceAccount(server: server, deviceName: try store.deviceName()) else {
        throw CommandFailure(.noAccount, .devicesElsewhere)
      }
      return account
    } catch let error as DeviceAccountError {
      throw failure(error, at: server ?? "")
    }
  }

  private func failure(_ error: DeviceAccountError, at server: String) -> CommandFailure {
    let message = presentation.readable(error.message)
    return switch error.code {
    case .wrongCode: CommandFailure(.failure, .joinWrongCode)
    case .refused: CommandFailure(.failure, .joinRefused)
    case .notConfirmed: CommandFailure(.failure, .joinNotConfirmed)
    case .hasAccount: CommandFailure(.failure, .joinHasAccount)
    case .noAccount: CommandFailure(.noAccount, .accountRefused, message)
    case .unreachable: CommandFailure(.notSynced, .serverUnreachable, server, message)
    case .insecure: CommandFailure(.notSynced, .serverInsecure, server, message)
    case .busy: CommandFailure(.notSynced, .errorBusy, message)
    case .settings, .other: CommandFailure(.failure, .errorOther, message)
    }
  }

  private func asking<Value>(
    _ account: DeviceAccount, _ body: () async throws -> Value
  ) async throws -> Value {
    do { return try await body() } catch let error as DeviceAccountError { throw failure(error, at: account.server) }
  }

  // MARK: Bringing devices in

  func invite() async throws -> ExitCode {
    let account = try deviceAccount()
    let code = try await asking(account) { try await account.invite() }
    let server = account.isDefaultServer ? "" : " --server \(account.server.asShellWord)"
    output.line(texts(.inviteCode, code, "lanternly join \(code)\(server)"))
    let candidate = try await asking(account) { try await account.candidate(for: code) }
    output.line(texts(.inviteCandidate, presentation.readable(candidate.name), candidate.fingerprint))
    let accepts = arguments.has("yes") || surroundings.confirm(texts(.inviteQuestion))
    let description = try await asking(account) { try await account.settle(candidate, accepts: accepts) }
    guard accepts else { throw CommandFailure(.failure, .inviteRefused, presentation.readable(candidate.name)) }
    // A name that another device had has a number by now.
    try note(description)
    done(texts(.inviteDone, presentation.readable(description.devices.last?.name ?? candidate.name)))
    return .done
  }

  func join() async throws -> ExitCode {
    let account = try deviceAccount(server: arguments.value("server"))
    let description = try await asking(account) {
      try await account.join(code: arguments.words[0], replacing: arguments.has("replace")) { fingerprint in
        output.line(texts(.joinFingerprint, fingerprint))
      }
    }
    if arguments.has("server") { try account.rememberServer() }
    try note(description)
    let name = try store.deviceName()
    done(texts(.joinDone, presentation.readable(name), presentation.devices(description.devices.count)))
    return .done
  }

  // MARK: Names

  func devices() async throws -> ExitCode {
    let account = try deviceAccount()
    let description = try await asking(account) { try await account.describe() }
    try note(description)
    if wantsJSON {
      output.line(try ScriptOutput.text(description.devices.map { ScriptOutput.DeviceShape($0) }))
      return .done
    }
    for device in description.devices {
      let mark = device.isThisDevice ? "*" : " "
      let since = presentation.moment(Moment(date: device.enrolled))
      output.line("\(mark) \(presentation.readable(device.name))  \(device.fingerprint)  \(texts(.deviceSince, since))")
    }
    return .done
  }

  /// Says what others call this device, or gives it another name: here at once, and in the account now or with the next sync.
  func device() async throws -> ExitCode {
    guard arguments.words[0] == "name" else { throw UsageError.tooManyWords(arguments.words[0], command: "device") }
    guard arguments.words.count == 2 else {
      output.line(presentation.readable(try store.deviceName()))
      return .done
    }
    let name = arguments.words[1].trimmingCharacters(in: .whitespacesAndNewlines)
    guard !name.isEmpty, name.count <= Self.deviceNameMax, presentation.readable(name) == name else {
      throw UsageError.tooManyWords(arguments.words[1], command: "device name")
    }
    try store.setDeviceName(name)
    let account = try deviceAccount()
    // A device without an account gets one with its first sync, and not for a name.
    guard account.knownAccount != nil else {
      done(texts(.deviceNamed, name))
      return .done
    }
    do {
      try note(try await account.rename(to: name))
    } catch let error as DeviceAccountError {
      done(texts(.deviceNamed, name))
      let failure = failure(error, at: account.server)
      output.problem(texts(.deviceNameLater, texts.filled(failure.text, failure.values)))
      return .done
    }
    done(texts(.deviceNamed, presentation.readable(try store.deviceName())))
    return .done
  }

  private static let deviceNameMax = 64

  private func note(_ description: DeviceAccount.Description) throws { try store.note(description, at: now) }

  /// The account, this device and how many there are, as far as they were heard of.
  func accountLines(_ notes: SyncNotes) -> [String] {
    guard let account = notes.account else { return [] }
    return [texts(.statusAccount, account, presentation.devices(notes.deviceCount ?? 1))]
  }
}

extension DiaryStore {
  /// Notes what a server said of the account. The name that it has for this device, where another one had ours, is ours now.
  func note(_ description: DeviceAccount.Description, at now: Moment) throws {
    try updateNotes { notes in
      notes.account = description.account
      notes.deviceCount = description.devices.count
      if let time = description.serverTime {
        let skew = (Double(now.milliseconds) - Double(Moment(date: time).milliseconds)) / 1000
        notes.clockSkewSeconds = abs(skew) < SyncNotes.clockSkewMin ? nil : skew
      }
    }
    if let name = description.thisDevice?.name { try setDeviceName(name) }
  }
}

extension DiarySyncRun {
  /// Hears of the account's devices, and tells them this one's name. A server that does not answer that has answered the sync.
  func meetDevices() async throws {
    guard let account = try? DeviceAccount(deviceName: try store.deviceName()) else { return }
    let name = try store.deviceName()
    do {
      var description = try await account.describe()
      if let known = description.thisDevice, known.name != name { description = try await account.rename(to: name) }
      try store.note(description, at: now())
    } catch is DeviceAccountError {
      return
    }
  }
}
