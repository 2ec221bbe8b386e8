public import Foundation
import VirgaModel
import VirgaWire

/// Where a query's page ended. It holds the query, so that nothing else is needed to go on.
///
/// On Linux an archive can only name classes at the top level, so `CKQueryOperation.Cursor` is another name for this
/// class.
public final class CKQueryCursor: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// What to ask for next.
  let request: RecordsQueryRequest

  init(_ request: RecordsQueryRequest) { self.request = request }

  public static var supportsSecureCoding: Bool { true }

  public init?(coder: NSCoder) {
    guard let body = coder.archived(Data.self),
      case .recordsQuery(let request)? = try? Call(decoding: [UInt8](body), for: .recordsQuery)
    else { return nil }
    self.request = request
  }

  public func encode(with coder: NSCoder) { coder.archive(Data(Call.recordsQuery(request).encoded())) }

  public func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKQueryCursor)?.request == request }
  public override var hash: Int { request.hashValue }
  public override var description: String { "<CKQueryCursor of \(request.query.recordType)>" }
}
