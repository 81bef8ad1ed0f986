import { clock } from '#lib/base/time.ts'
import type { Body } from '../check.ts'
import { Duplicate } from '../errors.ts'
import { checkKeyLength } from '../keys.ts'
import { entryTexts, expiryOf, type Layout } from '../layout.ts'
import type { KeyPrefixes } from './catalog.ts'
import type { Table } from './environment.ts'
import { expiresOf, headerOf, packBody, packRecord, type RecordHeader, type VersionedBody } from './record.ts'

/** A document ready for a write: everything that can be checked without other documents is checked. */
interface PreparedDocument {
  readonly key: string
  readonly header: RecordHeader
  readonly record: Buffer
}

/** The documents of one collection in the table. All methods but `prepare` and `read` must run inside a write. */
export type Documents = ReturnType<typeof createDocuments>

/** Whether a document has expired, and so counts as deleted. */
export function isExpired(header: RecordHeader): boolean {
  return isPast(header.expires_ms)
}

function isPast(expires_ms: number): boolean {
  return expires_ms <= clock.now_ms()
}

/** The documents of a collection whose prefixes are registered. */
export function createDocuments(table: Table, layout: Layout, prefixes: KeyPrefixes) {
  const names = new Map(prefixes.indexes.map(({ index, prefix }) => [prefix, index.name]))
  // The prefix of a unique index begins with `u`, see `KeyPrefixes`.
  const isUnique = (line: string): boolean => line.startsWith('u')
  /** The table keys of a document, and of the index entry with this line. */
  const documentKey = (key: string): string => `${prefixes.collection}${prefixes.documents} ${key}`
  const entryKey = (line: string, key: string): string =>
    isUnique(line) ? prefixes.collection + line : `${prefixes.collection}${line} ${key}`

  function entries(key: string, body: Body): string {
    const lines: string[] = []
    for (const { index, prefix } of prefixes.indexes) {
      for (const text of entryTexts(index, body)) {
        checkKeyLength(text, key)
        lines.push(`${prefix} ${text}`)
      }
    }
    return lines.join('\n')
  }

  /** The header of a document, expired or not. */
  function header(key: string): RecordHeader | undefined {
    const record = table.getBinaryFast(documentKey(key))
    return record === undefined ? undefined : headerOf(record)
  }

  /** The expired documents that hold unique values of `lines`. Throws `Duplicate` for one that has not expired. */
  function expiredHolders(key: string, lines: readonly string[]): Map<string, RecordHeader> {
    const found = new Map<string, RecordHeader>()
    for (const line of lines) {
      if (!isUnique(line)) continue
      const entry = table.getBinary(entryKey(line, key))
      if (entry === undefined) continue
      const holder = Buffer.from(entry).toString()
      const holder_header = holder === key ? undefined : header(holder)
      if (holder_header === undefined) continue
      if (!isExpired(holder_header)) {
        throw new Duplicate(layout.name, names.get(line.slice(0, line.indexOf(' '))) ?? 'unknown')
      }
      found.set(holder, holder_header)
    }
    return found
  }

  function remove(key: string, before: RecordHeader): void {
    for (const line of linesOf(before.entries)) void table.remove(entryKey(line, key))
    void table.remove(documentKey(key))
  }

  return {
    documentKey,
    entryKey,
    header,
    remove,
    prepare(key: string, document: VersionedBody): PreparedDocument {
      const { version } = document
      const made = { version, expires_ms: expiryOf(layout, document), entries: entries(key, document) }
      return { key, header: made, record: packRecord(made, packBody(document)) }
    },
    /** The bytes of a document that has not expired. They belong to LMDB and are valid until the next call to it. */
    read(key: string): Buffer | undefined {
      const record = table.getBinaryFast(documentKey(key))
      return record === undefined || isPast(expiresOf(record)) ? undefined : record
    },
    /**
     * Plans to put the document in the place of `before`, the one with the same key, and returns the function that does it.
     * Removes expired documents that hold its unique values. Throws `Duplicate` when a live document holds one.
     */
    planPut(
      { key, header: { entries: new_entries }, record }: PreparedDocument,
      before: RecordHeader | undefined,
    ): () => void {
      if (before?.entries === new_entries) return () => void table.put(documentKey(key), record)
      const old_lines = new Set(linesOf(before?.entries ?? ''))
      const new_lines = new Set(linesOf(new_entries))
      const added = [...new_lines].filter((line) => !old_lines.has(line))
      const making_room = expiredHolders(key, added)
      return () => {
        for (const [holder, holder_header] of making_room) remove(holder, holder_header)
        for (const line of old_lines) {
          if (!new_lines.has(line)) void table.remove(entryKey(line, key))
        }
        void table.put(documentKey(key), record)
        const key_bytes = Buffer.from(key)
        for (const line of added) void table.put(entryKey(line, key), key_bytes)
      }
    },
  }
}

function linesOf(entries: string): string[] {
  return entries === '' ? [] : entries.split('\n')
}
