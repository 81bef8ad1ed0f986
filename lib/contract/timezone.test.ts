import { expect, test } from '@jest/globals'
import { dayIn, isTimezone } from './timezone.ts'

const day = (timezone: string, instant: string): string => dayIn(timezone, new Date(instant))

test('knows IANA names, and neither offsets nor other texts', () => {
  for (const name of ['UTC', 'Asia/Kolkata', 'America/Argentina/Buenos_Aires', 'Etc/GMT+12'])
    expect(isTimezone(name)).toBe(true)
  for (const name of ['', '+05:30', 'Mars/Olympus', 'Asia/Kolkata ', '-', 'Asia'.repeat(20)])
    expect(isTimezone(name)).toBe(false)
  expect(() => day('Mars/Olympus', '2026-01-01T00:00:00Z')).toThrow(RangeError)
})

test.each<[string, string, string]>([
  // Zones 14 h ahead of and 12 h behind UTC have up to three days at the same instant.
  ['Pacific/Kiritimati', '2026-12-31T09:59:59.999Z', '2026-12-31'],
  ['Pacific/Kiritimati', '2026-12-31T10:00:00.000Z', '2027-01-01'],
  ['Etc/GMT+12', '2026-12-31T11:59:59.999Z', '2026-12-30'],
  // Half an hour and three quarters of an hour.
  ['Asia/Kolkata', '2026-02-28T18:29:59.999Z', '2026-02-28'],
  ['Asia/Kolkata', '2026-02-28T18:30:00.000Z', '2026-03-01'],
  ['Asia/Kathmandu', '2026-02-28T18:15:00.000Z', '2026-03-01'],
  // A leap day.
  ['America/Mexico_City', '2028-02-29T05:59:59.999Z', '2028-02-28'],
  ['America/Mexico_City', '2028-02-29T06:00:00.000Z', '2028-02-29'],
  // The day of 23 hours begins 11 h before UTC and the next one 10 h; then the day of 25 hours.
  ['Australia/Sydney', '2026-10-03T13:59:59.999Z', '2026-10-03'],
  ['Australia/Sydney', '2026-10-03T14:00:00.000Z', '2026-10-04'],
  ['Australia/Sydney', '2026-10-04T12:59:59.999Z', '2026-10-04'],
  ['Australia/Sydney', '2026-10-04T13:00:00.000Z', '2026-10-05'],
  ['Australia/Sydney', '2026-04-04T13:00:00.000Z', '2026-04-05'],
  ['Australia/Sydney', '2026-04-05T13:59:59.999Z', '2026-04-05'],
  ['Australia/Sydney', '2026-04-05T14:00:00.000Z', '2026-04-06'],
  // The clock goes back from midnight, so that the hour before it comes twice.
  ['America/Havana', '2026-11-01T04:30:00.000Z', '2026-11-01'],
  ['America/Havana', '2026-11-01T05:30:00.000Z', '2026-11-01'],
])('the day in %s at %s is %s', (timezone, instant, expected) => {
  expect(day(timezone, instant)).toBe(expected)
})
