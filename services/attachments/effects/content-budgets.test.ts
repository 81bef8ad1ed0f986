import { expect, test } from '@jest/globals'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Scanner } from '#lib/platform/clamd/scanner-setting.ts'
import type { Blobs } from '#lib/platform/store/store.ts'
import type { Attachment } from '../domain/attachment.ts'
import { openSession } from '../domain/session.ts'
import { bindInspectContent } from './inspect-content.ts'
import { bindScanContent } from './scan-content.ts'

/** None of these effects runs. */
const files: Blobs = Object.freeze({}) as Blobs
const scanner: Scanner = { host: 'clamd', port: 3310 }

function fileOf(merchant_id: string): Attachment {
  return openSession(
    {
      merchant_id,
      environment: 'test',
      attachment_id: 'a',
      purpose: 'ticket',
      name: 'receipt.txt',
      mime_type: 'text/plain',
      size_bytes: 1,
      sha256: '',
    },
    new Date(),
  )
}

/** How many of the files are admitted at once. */
function admitted({ budget }: BoundEffect<Attachment>, merchant_ids: readonly string[]): number {
  return merchant_ids.filter((merchant_id) => budget?.reserve(fileOf(merchant_id)) !== undefined).length
}

const ONE = Array.from({ length: 20 }, () => 'one')
const OTHERS = Array.from({ length: 20 }, (_, number) => `other ${number}`)

test('8 files are scanned at once, and 2 of them at most are of one merchant', () => {
  const scans = bindScanContent(files, scanner)
  expect(admitted(scans, ONE)).toBe(2)
  expect(admitted(scans, OTHERS)).toBe(6)
  expect(admitted(bindScanContent(files, scanner), OTHERS)).toBe(8)
})

test('a process without a scanner scans nothing', () => {
  expect(admitted(bindScanContent(files, undefined), OTHERS)).toBe(0)
})

test('4 files are inspected at once', () => {
  expect(admitted(bindInspectContent(files, scanner), OTHERS)).toBe(4)
})
