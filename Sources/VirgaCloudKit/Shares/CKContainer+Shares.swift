public import Foundation
import VirgaAccounts
import VirgaAuth
import VirgaModel
import VirgaWire

extension CKContainer {
  // MARK: What an address leads to

  /// What is shared at an address, with the root record.
  /// - Throws: `unknownItem` if there is no such share, `permissionFailure` if it is not for this user.
  public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
    try await shareMetadatas(for: [url]).only(url)
  }

  /// What the addresses share, with a result for each.
  /// - Throws: Only if nothing could be asked.
  public func shareMetadatas(for urls: [URL]) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
    try await shareMetadatas(for: urls, rootRecord: .fetched(keys: nil))
  }

  /// Whether metadata comes with the root record, and with which of its fields.
  enum RootRecord: Sendable {
    case leftOut
    case fetched(keys: [CKRecord.FieldKey]?)
  }

  func shareMetadatas(
    for urls: [URL], rootRecord: RootRecord
  ) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
    var found: [URL: Result<CKShare.Metadata, any Error>] = [:]
    var places: [(url: URL, container: ContainerID, request: ShortGUID)] = []
    for url in urls {
      guard let place = place(of: url) else {
        found[url] = .failure(CKError(.unknownItem, "\(url) is not the address of a share on this server."))
        continue
      }
      var request = ShortGUID(place.shortGUID, shouldFetchRootRecord: false)
      if case .fetched(let keys) = rootRecord {
        request.shouldFetchRootRecord = true
        request.rootRecordDesiredKeys = keys?.map { FieldName($0) }
      }
      places.append((url, place.container, request))
    }
    for (container, part) in parts(of: places, by: \.container) {
      let call = Call.recordsResolve(ShortGUIDsRequest(shortGUIDs: part.map(\.request)))
      do {
        let results = try await container.performShares(call, at: part.map(\.url))
        for (place, result) in zip(part, results) { found[place.url] = result }
      } catch  where !found.isEmpty {
        for place in part { found[place.url] = .failure(error) }
      }
    }
    return found
  }

  // MARK: Joining

  /// Joins a share. Its records then are in the shared database.
  /// - Throws: `accountTemporarilyUnavailable` if it was joined, but this device could not keep the key of encrypted values
  ///   that the address brought. Accepting it again, once the device has its account's key, keeps it.
  @discardableResult
  public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
    try await accept([metadata]).only(metadata)
  }

  /// Accepts shares, with a result for each: the shared database then has their zones. Accepting again succeeds.
  /// - Throws: Only if nothing was tried.
  public func accept(
    _ metadatas: [CKShare.Metadata]
  ) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
    var accepted: [CKShare.Metadata: Result<CKShare, any Error>] = [:]
    for (container, part) in parts(of: metadatas, by: \.container) {
      let call = Call.recordsAccept(ShortGUIDsRequest(shortGUIDs: part.map { ShortGUID($0.shortGUID) }))
      do {
        let results = try await container.performShares(call, at: part.map { _ in nil })
        for (metadata, result) in zip(part, results) {
          accepted[metadata] = await container.finishJoining(metadata, result)
        }
      } catch  where !accepted.isEmpty {
        // Some shares are joined already: each of the others says why it is not.
        for metadata in part { accepted[metadata] = .failure(error) }
      }
    }
    return accepted
  }

  private func performShares(
    _ call: Call, at urls: [URL?]
  ) async throws -> [Result<CKShare.Metadata, any Error>] {
    guard case .shares(let results) = try await publicCloudDatabase.perform(call), results.count == urls.count else {
      throw CKError.unexpected(call.operation.rawValue)
    }
    var found: [Result<CKShare.Metadata, any Error>] = []
    for (result, url) in zip(results, urls) {
      switch result {
      case .metadata(let model): found.append(Result { try CKShareMetadata(model, in: self, at: url) })
      case .failure(_, let error): found.append(.failure(CKError(error, item: .record)))
      }
      // Who has not joined yet has no keys, and sees the root's plain fields.
      if let root = try? found.last?.get().rootRecord { try? await sharedCloudDatabase.fetchKeys(for: [root]) }
    }
    return found
  }

  /// The share once its key is kept. Where that fails the share was joined all the same; accepting it again tries again.
  private func finishJoining(
    _ metadata: CKShare.Metadata, _ result: Result<CKShare.Metadata, any Error>
  ) async -> Result<CKShare, any Error> {
    do {
      let joined = try result.get()
      try await keepSecret(of: metadata, joined: joined)
      return .success(joined.share)
    } catch {
      return .failure(error)
    }
  }

  /// Keeps what the address of a share brought, so that all of the user's devices read the zone's encrypted values.
  private func keepSecret(of metadata: CKShare.Metadata, joined: CKShare.Metadata) async throws {
    guard joined.participantRole != .owner, let (fragment, zone) = metadata.secret,
      let seal = sharedCloudDatabase.seal(of: zone),
      let secret = ZoneSecret(fragment: fragment, place: seal.spot.place)
    else { return }
    try await seal.keyring.keep(secret, of: seal.spot)
  }

  /// Reads an address: ours names its container, Apple's does not.
  private func place(of url: URL) -> (container: ContainerID, shortGUID: String)? {
    let parts = url.pathComponents.filter { $0 != "/" }
    if parts.count == 4, parts[0] == "share", parts[2] == service.environment.rawValue {
      return (ContainerID(parts[1]), parts[3])
    }
    if parts.count == 2, parts[0] == "share", let own = containerIdentifier { return (ContainerID(own), parts[1]) }
    return nil
  }

  /// The elements by container, as many together as one request takes: in the order of each container's first element.
  private func parts<Element>(
    of elements: [Element], by container: (Element) -> ContainerID
  ) -> [(CKContainer, ArraySlice<Element>)] {
    var order: [ContainerID] = []
    var groups: [ContainerID: [Element]] = [:]
    for element in elements {
      let key = container(element)
      if groups[key] == nil { order.append(key) }
      groups[key, default: []].append(element)
    }
    return order.flatMap { id in
      let container = sibling(id)
      return (groups[id] ?? []).chunks(of: service.itemsPerRequestMax).map { (container, $0) }
    }
  }

  // MARK: With completion handlers

  /// `shareMetadata(for:)` with a completion handler.
  public func fetchShareMetadata(
    with url: URL, completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.shareMetadata(for: url) }
  }

  /// `shareMetadatas(for:)` with a completion handler.
  @preconcurrency
  public func fetchShareMetadatas(
    for urls: [URL],
    completionHandler: @escaping @Sendable (Result<[URL: Result<CKShare.Metadata, any Error>], any Error>) -> Void
  ) {
    callBack(completionHandler) { try await self.shareMetadatas(for: urls) }
  }

  /// `accept(_:)` for one share, with a completion handler.
  public func accept(
    _ metadata: CKShare.Metadata, completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.accept(metadata) }
  }

  /// `accept(_:)` for several shares, with a completion handler.
  @preconcurrency
  public func accept(
    _ metadatas: [CKShare.Metadata],
    completionHandler:
      @escaping @Sendable (Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>) -> Void
  ) {
    callBack(completionHandler) { try await self.accept(metadatas) }
  }
}
