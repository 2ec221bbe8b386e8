import VirgaModel

/// How the system fields of a record are archived: as few bytes as can be.
///
/// Apps write such an archive with each record that they fetch. Foundation on Linux copies a finished archive byte by byte
/// and takes about 45 ns for each, so that its length is what an archive costs.
///
/// The first byte names the form. Members follow: a byte with the member's number and the kind of its value, then the value.
/// Apps keep these bytes for years: members and kinds may be added, none may change its meaning. A reader skips a member
/// that it does not know.
enum SystemFieldsArchive {
  /// Distinguishes this form from JSON, which begins with a brace.
  static let form: UInt8 = 1

  fileprivate enum Member: UInt8 {
    case recordName = 1
    case zoneName, zoneOwner, type, tag
    /// Milliseconds since 1970. The modification's time is counted from the creation's, if that is there.
    case createdTime, createdUser, createdDevice
    /// The modification's user and device are left out where they are the creation's.
    case modifiedTime, modifiedUser, modifiedDevice
    case parentName, parentAction, parentZone, parentOwner
    case shareName, shareAction, shareZone, shareOwner
    case shortGUID, unknownMembers
  }

  static func encode(_ record: Record) -> [UInt8] {
    var writer = Writer(form: form)
    writer.text(.recordName, record.id.name.rawValue)
    writer.zone(record.id.zone, .zoneName, .zoneOwner)
    writer.text(.type, record.type.rawValue)
    if let tag = record.tag { writer.text(.tag, tag.rawValue) }
    if let created = record.created {
      writer.number(.createdTime, created.time.milliseconds)
      writer.text(.createdUser, created.user.rawValue)
      writer.text(.createdDevice, created.device)
    }
    if let modified = record.modified {
      writer.number(.modifiedTime, modified.time.milliseconds &- (record.created?.time.milliseconds ?? 0))
      if modified.user != record.created?.user { writer.text(.modifiedUser, modified.user.rawValue) }
      if modified.device != record.created?.device { writer.text(.modifiedDevice, modified.device) }
    }
    writer.reference(record.parent, .parentName, .parentAction, .parentZone, .parentOwner)
    writer.reference(record.share, .shareName, .shareAction, .shareZone, .shareOwner)
    if let guid = record.shortGUID { writer.text(.shortGUID, guid) }
    if !record.unknownMembers.isEmpty { writer.bytes(.unknownMembers, .text, record.unknownMembers) }
    return writer.output
  }

  /// The record without values; `nil` for bytes that are no such archive.
  static func decode(_ bytes: [UInt8]) -> Record? {
    guard let members = Members(bytes), let name = members.text(.recordName),
      let zone = members.zone(.zoneName, .zoneOwner), let type = members.text(.type)
    else { return nil }
    var record = Record(id: RecordID(RecordName(name), in: zone), type: RecordType(type))
    record.tag = members.text(.tag).map { ChangeTag($0) }
    record.created = members.numbers[.createdTime].map { time in
      RecordStamp(
        time: Timestamp(milliseconds: time), user: UserName(members.text(.createdUser) ?? ""),
        device: members.text(.createdDevice) ?? "")
    }
    record.modified = members.numbers[.modifiedTime].map { time in
      RecordStamp(
        time: Timestamp(milliseconds: time &+ (record.created?.time.milliseconds ?? 0)),
        user: members.text(.modifiedUser).map { UserName($0) } ?? record.created?.user ?? "",
        device: members.text(.modifiedDevice) ?? record.created?.device ?? "")
    }
    record.parent = members.reference(.parentName, .parentAction, .parentZone, .parentOwner)
    record.share = members.reference(.shareName, .shareAction, .shareZone, .shareOwner)
    record.shortGUID = members.text(.shortGUID)
    record.unknownMembers = members.texts[.unknownMembers]?.bytes ?? []
    return record
  }
}

extension SystemFieldsArchive {
  fileprivate struct Writer {
    private(set) var output: [UInt8] = []

    init(form: UInt8) {
      output.reserveCapacity(160)
      output.append(form)
    }

    mutating func number(_ member: Member, _ value: Int64) {
      head(member, .number)
      // Zigzag: negative numbers are short too.
      length(UInt64(bitPattern: value &<< 1 ^ value &>> 63))
    }

    mutating func text(_ member: Member, _ text: String) {
      let packed = PackedText(text)
      bytes(member, packed.spelling, packed.bytes)
    }

    mutating func bytes(_ member: Member, _ spelling: PackedText.Spelling, _ bytes: [UInt8]) {
      head(member, spelling)
      length(UInt64(bytes.count))
      output.append(contentsOf: bytes)
    }

    mutating func zone(_ zone: ZoneID, _ name: Member, _ owner: Member) {
      text(name, zone.name.rawValue)
      if zone.owner != .defaultOwner { text(owner, zone.owner.rawValue) }
    }

    mutating func reference(
      _ reference: Reference?, _ name: Member, _ action: Member, _ zone: Member, _ owner: Member
    ) {
      guard let reference else { return }
      text(name, reference.recordName.rawValue)
      if reference.action != .none { text(action, reference.action.rawValue) }
      if let id = reference.zone { self.zone(id, zone, owner) }
    }

    private mutating func head(_ member: Member, _ kind: PackedText.Spelling) {
      output.append(member.rawValue << 3 | kind.rawValue)
    }

    /// Seven bits a byte, the lowest first; all but the last byte have the highest bit.
    private mutating func length(_ value: UInt64) {
      var rest = value
      while rest > 0x7f {
        output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      output.append(UInt8(rest))
    }
  }

  fileprivate struct Members {
    var numbers: [Member: Int64] = [:]
    var texts: [Member: PackedText] = [:]

    init?(_ input: [UInt8]) {
      guard input.first == SystemFieldsArchive.form else { return nil }
      var rest = input[1...]
      while let head = rest.popFirst() {
        guard let spelling = PackedText.Spelling(rawValue: head & 7), let value = Self.length(&rest) else { return nil }
        let member = Member(rawValue: head >> 3)
        if spelling == .number {
          if let member { numbers[member] = Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1) }
        } else {
          guard value <= UInt64(rest.count) else { return nil }
          if let member { texts[member] = PackedText(spelling, Array(rest.prefix(Int(value)))) }
          rest = rest.dropFirst(Int(value))
        }
      }
    }

    private static func length(_ rest: inout ArraySlice<UInt8>) -> UInt64? {
      var value: UInt64 = 0
      for shift in stride(from: 0, to: 64, by: 7) {
        guard let byte = rest.popFirst() else { return nil }
        value |= UInt64(byte & 0x7f) << shift
        if byte < 0x80 { return value }
      }
      return nil
    }

    func text(_ member: Member) -> String? { texts[member]?.text }

    func zone(_ name: Member, _ owner: Member) -> ZoneID? {
      text(name).map { ZoneID(ZoneName($0), owner: text(owner).map { UserName($0) } ?? .defaultOwner) }
    }

    func reference(_ name: Member, _ action: Member, _ zone: Member, _ owner: Member) -> Reference? {
      text(name).map {
        Reference(
          recordName: RecordName($0), action: text(action).flatMap(Reference.Action.init(rawValue:)) ?? .none,
          zone: self.zone(zone, owner))
      }
    }
  }
}

/// A text in fewer bytes, if it is one of the forms that identifiers have.
struct PackedText: Equatable {
  /// How bytes spell a text. Also the kind of a member's value, one of which is no text.
  enum Spelling: UInt8 {
    case number = 0
    case text
    /// Lower-case hexadecimal digits, as devices have them.
    case hex
    /// The same behind an underscore, as users have them.
    case underscoredHex
    /// A UUID in capitals, as records have it that were made without a name.
    case uuid
  }

  var spelling: Spelling
  var bytes: [UInt8]

  init(_ spelling: Spelling, _ bytes: [UInt8]) {
    self.spelling = spelling
    self.bytes = bytes
  }

  init(_ text: String) {
    var text = text
    self = text.withUTF8 { utf8 in
      if utf8.count >= 8 {
        let isUser = utf8[0] == UInt8(ascii: "_")
        if let bytes = Self.packed(utf8[(isUser ? 1 : 0)...], letters: UInt8(ascii: "a"), dashes: []) {
          return PackedText(isUser ? .underscoredHex : .hex, bytes)
        }
        if utf8.count == 36, let bytes = Self.packed(utf8[...], letters: UInt8(ascii: "A"), dashes: Self.uuidDashes) {
          return PackedText(.uuid, bytes)
        }
      }
      return PackedText(.text, Array(utf8))
    }
  }

  /// `nil` if the bytes are no text.
  var text: String? {
    switch spelling {
    case .number: return nil
    case .text: return String(validating: bytes, as: UTF8.self)
    case .hex: return unpacked(letters: UInt8(ascii: "a"), dashes: [])
    case .underscoredHex: return "_" + unpacked(letters: UInt8(ascii: "a"), dashes: [])
    case .uuid: return unpacked(letters: UInt8(ascii: "A"), dashes: Self.uuidDashes)
    }
  }

  /// The numbers of digits before which a UUID has dashes.
  private static let uuidDashes = [8, 12, 16, 20]

  private static func packed(
    _ utf8: Slice<UnsafeBufferPointer<UInt8>>, letters: UInt8, dashes: [Int]
  ) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(utf8.count / 2)
    var high: UInt8?
    var digits = 0
    var dash = 0
    for byte in utf8 {
      if dash < dashes.count, dashes[dash] == digits {
        guard byte == UInt8(ascii: "-") else { return nil }
        dash += 1
        continue
      }
      let digit: UInt8
      if byte &- UInt8(ascii: "0") < 10 {
        digit = byte &- UInt8(ascii: "0")
      } else if byte &- letters < 6 {
        digit = byte &- letters + 10
      } else {
        return nil
      }
      digits += 1
      if let value = high {
        bytes.append(value << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    return high == nil && dash == dashes.count ? bytes : nil
  }

  private func unpacked(letters: UInt8, dashes: [Int]) -> String {
    var utf8: [UInt8] = []
    utf8.reserveCapacity(bytes.count * 2 + dashes.count)
    for (index, byte) in bytes.enumerated() {
      if dashes.contains(index * 2) { utf8.append(UInt8(ascii: "-")) }
      for digit in [byte >> 4, byte & 15] { utf8.append(digit < 10 ? UInt8(ascii: "0") + digit : letters + digit - 10) }
    }
    return String(decoding: utf8, as: UTF8.self)
  }
}
