import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { createLogSampler, type LogSampler } from './log-sampler.ts'

let manual: InstalledClock
beforeEach(() => {
  manual = installManualClock()
})
afterEach(() => manual[Symbol.dispose]())

const nextOf = (lines: LogSampler, count: number, address: string) =>
  Array.from({ length: count }, () => lines.sampleLine(address))

test('limits the lines per minute about a network, and says how many were left out', async () => {
  const lines = createLogSampler({ network_lines_max: 2 })
  expect(nextOf(lines, 4, '192.0.2.1')).toEqual([0, 0, undefined, undefined])
  expect(nextOf(lines, 1, '192.0.2.2')).toEqual([0])
  await manual.advance(59_999)
  expect(nextOf(lines, 1, '192.0.2.1')).toEqual([undefined])
  await manual.advance(1)
  expect(nextOf(lines, 3, '192.0.2.1')).toEqual([3, 0, undefined])
})

test('counts a /48 of IPv6 as one network, and all invalid addresses together as another', () => {
  const lines = createLogSampler({ network_lines_max: 1 })
  expect([
    lines.sampleLine('2001:db8:1::1'),
    lines.sampleLine('2001:db8:1:2::1'),
    lines.sampleLine('2001:db8:2::1'),
  ]).toEqual([0, undefined, 0])
  expect([lines.sampleLine(undefined), lines.sampleLine('x')]).toEqual([0, undefined])
})

test('limits the lines about all networks together', async () => {
  const lines = createLogSampler({ network_lines_max: 2, lines_max: 3 })
  expect(nextOf(lines, 2, '192.0.2.1')).toEqual([0, 0])
  expect(nextOf(lines, 2, '192.0.2.2')).toEqual([0, undefined])
  expect(nextOf(lines, 1, '192.0.2.3')).toEqual([undefined])
  await manual.advance(60_000)
  expect(nextOf(lines, 1, '192.0.2.3')).toEqual([1])
})

test('remembers 10,000 networks, so that callers from more of them do not use more memory', () => {
  const lines = createLogSampler({ network_lines_max: 1, lines_max: 1_000_000 })
  expect(nextOf(lines, 2, '2001:db8::')).toEqual([0, undefined])
  for (let number = 1; number <= 9_999; number += 1) lines.sampleLine(`2001:db8:${number.toString(16)}::`)
  expect(nextOf(lines, 1, '2001:db8::')).toEqual([undefined])
  for (let number = 10_000; number <= 20_000; number += 1)
    lines.sampleLine(`2001:db8:${number.toString(16)}::`)
  expect(nextOf(lines, 1, '2001:db8::')).toEqual([0])
})
