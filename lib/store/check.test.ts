import { expect, test } from '@jest/globals'
import { createNameCheck } from './check.ts'

test('remembers a bounded number of field names, and checks all others too', () => {
  const known = new Set<string>()
  const checkName = createNameCheck(known)
  for (let number = 0; number < 10_000; number += 1) checkName(`field ${number}`)
  expect(known.size).toBe(4_096)
  expect(() => checkName('a.b')).toThrow('"a.b" is not a valid field name')
  expect(() => checkName('__proto__')).toThrow(TypeError)
})
