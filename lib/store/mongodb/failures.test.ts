import { expect, test } from '@jest/globals'
import { MongoServerError } from 'mongodb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '../errors.ts'
import { writeFailure } from './failures.ts'

const NOT_THE_PRIMARY = 10107

test('a write that the server refused did not happen, unless an earlier command of it had no response', () => {
  const refusal = new MongoServerError({ code: NOT_THE_PRIMARY, message: 'not primary' })
  const first = writeFailure(refusal, 1)
  expect(first).toBeInstanceOf(Unavailable)
  expect(first).not.toBeInstanceOf(Ambiguous)
  expect(writeFailure(refusal, 2)).toBeInstanceOf(Ambiguous)
})
