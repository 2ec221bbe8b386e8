public import Foundation

/// Asks which records of zones have changed.
open class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {
  // Unchecked as its superclass is.
  /// How one zone is read.
  public typealias ZoneConfiguration = CKFetchRecordZoneChangesConfiguration
  /// The older name for how one zone is read.
  public typealias ZoneOptions = CKFetchRecordZoneChangesOptions

  /// The zones to read, one after another; nil reads those that have a configuration.
  open var recordZoneIDs: [CKRecordZone.ID]?
  /// How zones are read, each by itself. A zone without an entry is read from the beginning.
  open var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]?
  /// The older form of `configurationsByRecordZoneID`, which counts where that is nil.
  open var optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]?
  /// Whether to go on until everything is read. Otherwise each zone is asked for one page.
  open var fetchAllChanges = true

  /// The latest state of a record; a failure if its asset cannot be had.
  open var recordWasChangedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
  /// Called for each record that was deleted, with the type that it had.
  open var recordWithIDWasDeletedBlock: ((CKRecord.ID, CKRecord.RecordType) -> Void)?
  /// Called after each page of a zone but the last: what came before it may be kept with this token.
  open var recordZoneChangeTokensUpdatedBlock: ((CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)?
  /// Called once for each zone.
  open var recordZoneFetchResultBlock:
    (
      (
        CKRecordZone.ID,
        Result<(serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool), any Error>
      ) -> Void
    )?
  /// Fails only if the operation as a whole cannot go on; a zone's failure is told of above.
  open var fetchRecordZoneChangesResultBlock: ((Result<Void, any Error>) -> Void)?
  /// The older form of `recordWasChangedBlock`, not called where that is set.
  open var recordChangedBlock: ((CKRecord) -> Void)?
  /// The older form of `recordZoneFetchResultBlock`, not called where that is set.
  open var recordZoneFetchCompletionBlock: ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
  /// The older form of `fetchRecordZoneChangesResultBlock`, not called where that is set. Failures of zones and records
  /// come as one `partialFailure`.
  open var fetchRecordZoneChangesCompletionBlock: (((any Error)?) -> Void)?

  public override init() { super.init() }

  /// Makes an operation that reads these zones, in their order.
  public convenience init(
    recordZoneIDs: [CKRecordZone.ID]? = nil,
    configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
  ) {
    self.init()
    self.recordZoneIDs = recordZoneIDs
    self.configurationsByRecordZoneID = configurationsByRecordZoneID
  }

  /// Apple has retired this form.
  @_disfavoredOverload
  public convenience init(
    recordZoneIDs: [CKRecordZone.ID], optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]? = nil
  ) {
    self.init()
    self.recordZoneIDs = recordZoneIDs
    self.optionsByRecordZoneID = optionsByRecordZoneID
  }

  override func run() async {
    let options = optionsByRecordZoneID?.mapValues(\.configuration)
    let configurations = configurationsByRecordZoneID ?? options ?? [:]
    let zones = recordZoneIDs ?? configurations.keys.sorted { $0.model < $1.model }
    var errors: [AnyHashable: any Error] = [:]
    var whole: Result<Void, any Error> = .success(())
    for zone in zones {
      // What stops one zone for a reason of the whole stops the others too.
      if case .failure(let error) = whole {
        await callBack { self.tell(zone, nil, false, error) }
        continue
      }
      var reader = ZoneReader(zone: zone, configuration: configurations[zone] ?? ZoneConfiguration())
      do {
        try await read(&reader)
      } catch {
        if error.isAboutWholeOperation { whole = .failure(error) }
        errors[AnyHashable(zone)] = error
        await callBack { [token = reader.token] in self.tell(zone, token, false, error) }
      }
      errors.merge(reader.errors) { first, _ in first }
    }
    let olderError = CKError.older(whole, errors)
    await callBack { [whole] in
      if let block = self.fetchRecordZoneChangesResultBlock {
        block(whole)
      } else {
        self.fetchRecordZoneChangesCompletionBlock?(olderError)
      }
    }
  }

  /// One zone's reading.
  private struct ZoneReader {
    let zone: CKRecordZone.ID
    let desiredKeys: [CKRecord.FieldKey]?
    let resultsLimit: Int?
    var token: CKServerChangeToken?
    /// Records whose assets could not be had.
    var errors: [AnyHashable: any Error] = [:]

    init(zone: CKRecordZone.ID, configuration: ZoneConfiguration) {
      self.zone = zone
      desiredKeys = configuration.desiredKeys
      resultsLimit = configuration.resultsLimit > 0 ? configuration.resultsLimit : nil
      token = configuration.previousServerChangeToken
    }
  }

  private func read(_ reader: inout ZoneReader) async throws {
    let database = try target()
    while true {
      try checkCancellation()
      let page = try await database.recordZonePage(
        inZoneWith: reader.zone, since: reader.token, desiredKeys: reader.desiredKeys,
        resultsLimit: reader.resultsLimit)
      if page.moreComing, page.changeToken.text == reader.token?.text { throw CKError.leadsNowhere("changes/zone") }
      reader.token = page.changeToken
      for case (let id, .failure(let error)) in page.records { reader.errors[AnyHashable(id)] = error }
      let isLast = !(page.moreComing && fetchAllChanges)
      await callBack { [zone = reader.zone] in
        self.tell(page)
        if isLast {
          self.tell(zone, page.changeToken, page.moreComing, nil)
        } else {
          self.recordZoneChangeTokensUpdatedBlock?(zone, page.changeToken, nil)
        }
      }
      if isLast { return }
    }
  }

  private func tell(_ page: CKDatabase.RecordZonePage) {
    for (id, result) in page.records {
      if let recordWasChangedBlock {
        recordWasChangedBlock(id, result)
      } else if case .success(let record) = result {
        recordChangedBlock?(record)
      }
    }
    for deletion in page.deletions { recordWithIDWasDeletedBlock?(deletion.recordID, deletion.recordType) }
  }

  /// A zone's end.
  private func tell(
    _ zone: CKRecordZone.ID, _ token: CKServerChangeToken?, _ moreComing: Bool, _ error: (any Error)?
  ) {
    if let recordZoneFetchResultBlock {
      if let token, error == nil {
        recordZoneFetchResultBlock(zone, .success((token, nil, moreComing)))
      } else {
        recordZoneFetchResultBlock(zone, .failure(error ?? CKError.unexpected("changes/zone")))
      }
    } else {
      recordZoneFetchCompletionBlock?(zone, token, nil, moreComing, error)
    }
  }
}

/// How one zone is read.
///
/// On Linux an archive can only name classes at the top level, so `CKFetchRecordZoneChangesOperation.ZoneConfiguration`
/// is another name for this class.
public final class CKFetchRecordZoneChangesConfiguration: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  // Unchecked because its settings belong to the caller until an operation with them starts, and are only read then.

  /// Where the reader stopped; nil reads from the beginning, and tells of no deletions.
  public var previousServerChangeToken: CKServerChangeToken?
  /// At most this many records a page; 0 lets the service choose.
  public var resultsLimit = 0
  /// The fields wanted: nil for all, none with an empty array.
  public var desiredKeys: [CKRecord.FieldKey]?

  public override init() {}

  /// Makes a way to read a zone.
  /// - Parameter previousServerChangeToken: Where the reader stopped; nil reads from the beginning.
  /// - Parameter resultsLimit: At most this many records a page; nil lets the service choose.
  /// - Parameter desiredKeys: The fields to fetch; nil for all.
  public convenience init(
    previousServerChangeToken: CKServerChangeToken? = nil, resultsLimit: Int? = nil,
    desiredKeys: [CKRecord.FieldKey]? = nil
  ) {
    self.init()
    self.previousServerChangeToken = previousServerChangeToken
    self.resultsLimit = resultsLimit ?? 0
    self.desiredKeys = desiredKeys
  }

  private struct Archived: Codable {
    var token: String?
    var resultsLimit: Int
    var desiredKeys: [String]?
  }

  public static var supportsSecureCoding: Bool { true }

  public convenience init?(coder: NSCoder) {
    guard let archived = coder.archived(Archived.self) else { return nil }
    self.init(
      previousServerChangeToken: archived.token.map { CKServerChangeToken($0) }, resultsLimit: archived.resultsLimit,
      desiredKeys: archived.desiredKeys)
  }

  public func encode(with coder: NSCoder) {
    coder.archive(
      Archived(token: previousServerChangeToken?.text, resultsLimit: resultsLimit, desiredKeys: desiredKeys))
  }

  public func copy(with zone: NSZone? = nil) -> Any {
    CKFetchRecordZoneChangesConfiguration(
      previousServerChangeToken: previousServerChangeToken, resultsLimit: resultsLimit, desiredKeys: desiredKeys)
  }
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKFetchRecordZoneChangesConfiguration else { return false }
    return other.previousServerChangeToken == previousServerChangeToken && other.resultsLimit == resultsLimit
      && other.desiredKeys == desiredKeys
  }
  public override var hash: Int { previousServerChangeToken?.hash ?? 0 }
}

/// How one zone is read, in the form that Apple has retired for `ZoneConfiguration`.
///
/// On Linux an archive can only name classes at the top level, so `CKFetchRecordZoneChangesOperation.ZoneOptions` is another
/// name for this class.
public final class CKFetchRecordZoneChangesOptions: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  // Unchecked as the configuration is.
  let configuration: CKFetchRecordZoneChangesConfiguration

  public convenience override init() { self.init(CKFetchRecordZoneChangesConfiguration()) }

  private init(_ configuration: CKFetchRecordZoneChangesConfiguration) { self.configuration = configuration }

  /// Where the reader stopped; nil reads from the beginning, and tells of no deletions.
  public var previousServerChangeToken: CKServerChangeToken? {
    get { configuration.previousServerChangeToken }
    set { configuration.previousServerChangeToken = newValue }
  }

  /// At most this many records a page; 0 lets the service choose.
  public var resultsLimit: Int {
    get { configuration.resultsLimit }
    set { configuration.resultsLimit = newValue }
  }

  /// The fields wanted: nil for all, none with an empty array.
  public var desiredKeys: [String]? {
    get { configuration.desiredKeys }
    set { configuration.desiredKeys = newValue }
  }

  public static var supportsSecureCoding: Bool { true }

  public convenience init?(coder: NSCoder) {
    guard let configuration = CKFetchRecordZoneChangesConfiguration(coder: coder) else { return nil }
    self.init(configuration)
  }

  public func encode(with coder: NSCoder) { configuration.encode(with: coder) }

  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = CKFetchRecordZoneChangesOptions()
    (copy.previousServerChangeToken, copy.resultsLimit, copy.desiredKeys) =
      (previousServerChangeToken, resultsLimit, desiredKeys)
    return copy
  }
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? CKFetchRecordZoneChangesOptions)?.configuration == configuration
  }
  public override var hash: Int { configuration.hash }
}

extension Error {
  /// Whether no other zone can be read either.
  fileprivate var isAboutWholeOperation: Bool {
    guard let error = self as? CKError else { return true }
    switch error.code {
    case .networkUnavailable, .networkFailure, .serverResponseLost, .serviceUnavailable, .requestRateLimited,
      .notAuthenticated, .operationCancelled, .badDatabase, .badContainer, .missingEntitlement,
      .accountTemporarilyUnavailable, .managedAccountRestricted, .incompatibleVersion:
      return true
    default: return false
    }
  }
}
