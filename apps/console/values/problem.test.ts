import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, test } from '@jest/globals'
import { codeOfHttp, failureOf, isAway, isUnclear, problemOf } from './problem.ts'

describe('a failed call', () => {
  test('without an answer is unavailable, so that it is tried again', () => {
    const thrown = ConnectError.from(new TypeError('Failed to fetch'))
    expect([thrown.code, isAway(thrown)]).toEqual([Code.Unknown, false])
    expect(isAway(failureOf(thrown))).toBe(true)
    expect(isUnclear(failureOf(thrown))).toBe(true)
  })

  test('with an answer stays what it is', () => {
    const refused = new ConnectError('no', Code.FailedPrecondition)
    expect(failureOf(refused)).toBe(refused)
    expect(failureOf(new ConnectError('broken', Code.Unknown)).code).toBe(Code.Unknown)
  })

  test.each([
    [401, Code.Unauthenticated],
    [502, Code.Unavailable],
    [503, Code.Unavailable],
    [504, Code.Unavailable],
    [500, Code.Unknown],
  ])('with HTTP %d has the status %d', (status, code) => {
    expect(codeOfHttp(status)).toBe(code)
  })
})

describe('the next step', () => {
  const away = new ConnectError('away', Code.Unavailable)

  test('says that a repetition is done once only of an act that names its operation', () => {
    expect(problemOf(away, 'once').next_step).toContain('A repeated act is done once.')
    expect(problemOf(away, 'again').next_step).toBe('It may have been done: look before you repeat it.')
    expect(problemOf(away).next_step).toBe('Try again: a part of the system is away.')
  })

  test('of a refusal does not doubt that nothing has changed', () => {
    const refused = new ConnectError('no', Code.FailedPrecondition)
    expect(problemOf(refused, 'again')).toEqual(problemOf(refused))
  })

  test('names the request id only where there is one', () => {
    const known = new ConnectError('broken', Code.Internal, { 'x-request-id': 'r1' })
    expect(problemOf(known).next_step).toContain('request id')
    expect(problemOf(new ConnectError('broken', Code.Internal)).next_step).not.toContain('request id')
  })
})
