import VirgaModel

/// Places as bytes: the bits of latitude and longitude by turns, so that places with a common beginning lie in one box
/// (a Morton code).
enum PlaceKey {
  static func key(of place: Location) -> [UInt8] {
    var key: [UInt8] = []
    IndexKey.append(code(row(place.latitude), column(place.longitude)), to: &key)
    return key
  }

  /// A few ranges that hold all places within `distance` metres, and some others.
  static func ranges(around center: Location, distance: Double) -> [IndexRange] {
    let box = center.box(around: distance)
    let rows = row(box.latitudes.lowerBound)...row(box.latitudes.upperBound)
    var columns = [column(box.longitudes.lowerBound)...column(min(180, box.longitudes.upperBound))]
    if box.longitudes.lowerBound < -180 {
      columns = [0...column(box.longitudes.upperBound), column(box.longitudes.lowerBound + 360)...UInt32.max]
    } else if box.longitudes.upperBound > 180 {
      columns.append(0...column(box.longitudes.upperBound - 360))
    }
    let covering = columns.flatMap { cells(rows: rows, columns: $0) }.sorted { $0.lowerBound < $1.lowerBound }
    var ranges: [ClosedRange<UInt64>] = []
    for cell in covering {
      if let last = ranges.last, last.upperBound == .max || last.upperBound + 1 >= cell.lowerBound {
        ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, cell.upperBound)
      } else {
        ranges.append(cell)
      }
    }
    return ranges.map { range($0.lowerBound, $0.upperBound) }
  }

  /// The cells that cover a box, at most five by five.
  private static func cells(rows: ClosedRange<UInt32>, columns: ClosedRange<UInt32>) -> [ClosedRange<UInt64>] {
    let extent = max(rows.upperBound - rows.lowerBound, columns.upperBound - columns.lowerBound)
    // A cell is at least a quarter as wide as the box.
    let shift = UInt64(max(0, 30 - extent.leadingZeroBitCount))
    var ranges: [ClosedRange<UInt64>] = []
    for row in UInt64(rows.lowerBound) >> shift...UInt64(rows.upperBound) >> shift {
      for column in UInt64(columns.lowerBound) >> shift...UInt64(columns.upperBound) >> shift {
        let first = code(UInt32(row << shift), UInt32(column << shift))
        ranges.append(first...(first | ((1 << (2 * shift)) - 1)))
      }
    }
    return ranges
  }

  private static func range(_ first: UInt64, _ last: UInt64) -> IndexRange {
    var (lower, upper): ([UInt8], [UInt8]) = ([], [])
    IndexKey.append(first, to: &lower)
    IndexKey.append(last, to: &upper)
    // Longer than any key that begins so, and less than the next one.
    return IndexRange(lower: lower, upper: upper + [0])
  }

  private static func row(_ latitude: Double) -> UInt32 { part((latitude + 90) / 180) }
  private static func column(_ longitude: Double) -> UInt32 { part((longitude + 180) / 360) }

  private static func part(_ fraction: Double) -> UInt32 {
    UInt32(max(0, min(1, fraction)) * Double(UInt32.max))
  }

  private static func code(_ row: UInt32, _ column: UInt32) -> UInt64 { spread(row) << 1 | spread(column) }

  /// Puts a zero before each bit.
  private static func spread(_ bits: UInt32) -> UInt64 {
    var word = UInt64(bits)
    word = (word | word << 16) & 0x0000_ffff_0000_ffff
    word = (word | word << 8) & 0x00ff_00ff_00ff_00ff
    word = (word | word << 4) & 0x0f0f_0f0f_0f0f_0f0f
    word = (word | word << 2) & 0x3333_3333_3333_3333
    return (word | word << 1) & 0x5555_5555_5555_5555
  }
}
