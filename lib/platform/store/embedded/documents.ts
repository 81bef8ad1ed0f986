import type { Body } from '#lib/platform/store/check.ts'
import { Duplicate } from '#lib/platform/store/errors.ts'
import { checkKeyLength } from '#lib/platform/store/keys.ts'
import { entryTexts, expiryOf, type Layout } from '#lib/platform/store/layout.ts'
import { clock } from '#lib/platform/time.ts'
import type { KeyPrefixes } from './catalog.ts'
import type { Table } from './environment.ts'
import { expiresOf, type Head, headOf, packBody, packRecord, type VersionedBody } from './record.ts'

/** A document ready for a write: everything that can be checked without other documents is checked. */
export interface PreparedDocument {
  readonly key: string
  readonly head: Head
  readonly record: Buffer
}

/** The documents of one collection in the table. All methods but `prepare` and `read` must run inside a write. */
export interface Documents {
  prepare(key: string, document: VersionedBody): PreparedDocument
  /** The bytes of a document that has not expired. They belong to LMDB and are valid until the next call to it. */
  read(key: string): Buffer | undefined
  /** The head of a document, expired or not. */
  head(key: string): Head | undefined
  /**
   * Plans to put the document in the place of `before`, the one with the same key, and returns the function that does it.
   * Removes expired documents that hold its unique values. Throws `Duplicate` when a live document holds one.
   */
  planPut(document: PreparedDocument, before: Head | undefined): () => void
  remove(key: string, before: Head): void
  /** The table keys of a document, and of the index entry with this line. */
  documentKey(key: string): string
  entryKey(line: string, key: string): string
}

/** Whether a document has expired, and so counts as deleted. */
export function isExpired(head: Head): boolean {
  return isPast(head.expires_ms)
}

function isPast(expires_ms: number): boolean {
  return expires_ms <= clock.now_ms()
}

/** The documents of a collection whose heads are registered. */
export function createDocuments(table: Table, layout: Layout, heads: KeyPrefixes): Documents {
  const names = new Map(heads.indexes.map(({ index, head }) => [head, index.name]))
  const documentKey = (key: string): string => `${heads.prefix}${heads.documents} ${key}`
  const entryKey = (line: string, key: string): string =>
    line.startsWith('u') ? heads.prefix + line : `${heads.prefix}${line} ${key}`

  function entries(key: string, body: Body): string {
    const lines: string[] = []
    for (const { index, head } of heads.indexes) {
      for (const text of entryTexts(index, body)) {
        checkKeyLength(text, key)
        lines.push(`${head} ${text}`)
      }
    }
    return lines.join('\n')
  }

  function head(key: string): Head | undefined {
    const record = table.getBinaryFast(documentKey(key))
    return record === undefined ? undefined : headOf(record)
  }

  /** The expired documents that hold unique values of `lines`. Throws `Duplicate` for one that has not expired. */
  function evicted(key: string, lines: readonly string[]): Map<string, Head> {
    const found = new Map<string, Head>()
    for (const line of lines) {
      if (!line.startsWith('u')) continue
      const entry = table.getBinary(entryKey(line, key))
      if (entry === undefined) continue
      const holder = Buffer.from(entry).toString()
      const holder_head = holder === key ? undefined : head(holder)
      if (holder_head === undefined) continue
      if (!isExpired(holder_head)) {
        throw new Duplicate(layout.name, names.get(line.slice(0, line.indexOf(' '))) ?? 'unknown')
      }
      found.set(holder, holder_head)
    }
    return found
  }

  function remove(key: string, before: Head): void {
    for (const line of linesOf(before.entries)) void table.remove(entryKey(line, key))
    void table.remove(documentKey(key))
  }

  return {
    documentKey,
    entryKey,
    head,
    remove,
    prepare(key, document) {
      const { version } = document
      const made = { version, expires_ms: expiryOf(layout, document), entries: entries(key, document) }
      return { key, head: made, record: packRecord(made, packBody(document)) }
    },
    read(key) {
      const record = table.getBinaryFast(documentKey(key))
      return record === undefined || isPast(expiresOf(record)) ? undefined : record
    },
    planPut({ key, head: { entries: new_entries }, record }, before) {
      if (before?.entries === new_entries) return () => void table.put(documentKey(key), record)
      const old_lines = new Set(linesOf(before?.entries ?? ''))
      const new_lines = new Set(linesOf(new_entries))
      const added = [...new_lines].filter((line) => !old_lines.has(line))
      const making_room = evicted(key, added)
      return () => {
        for (const [holder, holder_head] of making_room) remove(holder, holder_head)
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
