/** An entry of an index: where it sorts, and the document that it leads to. */
export interface Entry {
  readonly position: string
  readonly key: string
}

/** The entries of an index in the byte order of their positions. */
export interface SortedEntries {
  add(text: string, key: string): void
  remove(text: string): void
  /** The entries from `low` (included) to `high` (excluded), or in the opposite order. */
  between(low: string, high: string, reverse: boolean): Iterable<Entry>
}

/** Makes an empty index. */
export function createSortedEntries(): SortedEntries {
  const entries: Entry[] = []

  /** The index of the first entry at or after a position. */
  function firstAt(position: string): number {
    let [low, high] = [0, entries.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((entries[middle]?.position ?? '') < position) low = middle + 1
      else high = middle
    }
    return low
  }

  return {
    add(text, key) {
      const position = sortable(text)
      const index = firstAt(position)
      if (entries[index]?.position === position) throw new Error(`two entries at ${text}`)
      entries.splice(index, 0, { position, key })
    },
    remove(text) {
      const position = sortable(text)
      const index = firstAt(position)
      if (entries[index]?.position !== position) throw new Error(`no entry at ${text}`)
      entries.splice(index, 1)
    },
    *between(low, high, reverse) {
      const [from, to] = [firstAt(sortable(low)), firstAt(sortable(high))]
      // A copy of the range is not needed: the caller reads it at once.
      if (reverse) for (let index = to - 1; index >= from; index -= 1) yield entries[index] as Entry
      else for (let index = from; index < to; index += 1) yield entries[index] as Entry
    },
  }
}

/** Text whose order by UTF-16 units is the order of the original's UTF-8 bytes. */
export function sortable(text: string): string {
  if (!/[\ud800-\uffff]/.test(text)) return text
  let moved = ''
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    moved += String.fromCharCode(unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit)
  }
  return moved
}
