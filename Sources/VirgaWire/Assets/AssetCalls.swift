public import VirgaModel

/// Asks for URLs to send bytes to, each for one field of one record.
public struct AssetsUploadRequest: Hashable, Sendable {
  public struct Item: Hashable, Sendable {
    /// `nil` lets the server choose a name for a record to come.
    public var recordName: RecordName?
    public var recordType: RecordType
    public var fieldName: FieldName
    public init(recordName: RecordName?, recordType: RecordType, fieldName: FieldName) {
      self.recordName = recordName
      self.recordType = recordType
      self.fieldName = fieldName
    }
  }

  public var zone: ZoneSelector
  public var items: [Item]
  public init(zone: ZoneSelector, items: [Item]) {
    self.zone = zone
    self.items = items
  }
}

/// Asks for the assets of records with receipts, so that other records can hold them too without another upload.
public struct AssetsRereferenceRequest: Hashable, Sendable {
  public struct Item: Hashable, Sendable {
    public var recordName: RecordName
    public var fieldName: FieldName
    public init(recordName: RecordName, fieldName: FieldName) {
      self.recordName = recordName
      self.fieldName = fieldName
    }
  }

  public var zone: ZoneSelector
  public var items: [Item]
  public init(zone: ZoneSelector, items: [Item]) {
    self.zone = zone
    self.items = items
  }
}

public struct AssetUploadToken: Hashable, Sendable {
  public var recordName: RecordName
  public var fieldName: FieldName
  public var url: String
  public init(recordName: RecordName, fieldName: FieldName, url: String) {
    self.recordName = recordName
    self.fieldName = fieldName
    self.url = url
  }
}

/// What the upload of an asset's bytes answers: `{"singleFile":{…}}`. The receipt goes into the record.
public struct AssetReceipt: Hashable, Sendable {
  public var fileChecksum: String
  public var size: Int64
  public var receipt: String
  public var wrappingKey: String
  public var referenceChecksum: String
  public init(fileChecksum: String, size: Int64, receipt: String, wrappingKey: String, referenceChecksum: String) {
    self.fileChecksum = fileChecksum
    self.size = size
    self.receipt = receipt
    self.wrappingKey = wrappingKey
    self.referenceChecksum = referenceChecksum
  }
}
