public import VirgaModel
import VirgaWire

/// What an upload URL and the receipt that it yields are bound to.
public struct UploadGrant: Hashable, Sendable, Codable {
  public var container: ContainerID
  public var environment: Environment
  public var user: UserName
  public var recordName: RecordName
  public var fieldName: FieldName
  public var expires: Timestamp
  /// Of the database that the upload is meant for, whose quota counts; no receipt is bound to it.
  public var scope = DatabaseScope.private

  public init(
    container: ContainerID, environment: Environment, user: UserName, recordName: RecordName, fieldName: FieldName,
    expires: Timestamp
  ) {
    self.container = container
    self.environment = environment
    self.user = user
    self.recordName = recordName
    self.fieldName = fieldName
    self.expires = expires
  }
}
