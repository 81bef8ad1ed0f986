import { expect, test } from '@jest/globals'
import { VERIFICATION_PROBLEMS_MAX } from '../limits.ts'
import { addProblem, type LedgerProblem } from './verification.ts'

const problemAt = (seq: number): LedgerProblem => ({
  seq: BigInt(seq),
  place: 'journal',
  description: 'wrong',
})

test('two problems of one batch are both kept', () => {
  const none = { problems: [], has_more_problems: false }
  const problems = [problemAt(1), { ...problemAt(1), description: 'wrong too' }]
  expect(problems.reduce(addProblem, none).problems).toEqual(problems)
})

test('a problem is kept once, and their number is bounded', () => {
  let found = { problems: [] as readonly LedgerProblem[], has_more_problems: false }
  for (let seq = 1; seq <= VERIFICATION_PROBLEMS_MAX; seq += 1) found = addProblem(found, problemAt(seq))
  expect(addProblem(found, problemAt(1))).toBe(found)
  expect(found.has_more_problems).toBe(false)
  const full = addProblem(found, problemAt(VERIFICATION_PROBLEMS_MAX + 1))
  expect(full.has_more_problems).toBe(true)
  expect(full.problems).toEqual(found.problems)
})

test('the first problem of the archive is kept beside any number of others', () => {
  const problems = Array.from({ length: VERIFICATION_PROBLEMS_MAX }, (_, seq) => problemAt(seq))
  const gap: LedgerProblem = { seq: 1n, place: 'archive', description: 'cannot be read' }
  const found = addProblem({ problems, has_more_problems: false }, gap)
  expect(found).toEqual({ problems: [...problems, gap], has_more_problems: false })
  expect(addProblem(found, { ...gap, seq: 2n })).toEqual({ ...found, has_more_problems: true })
})
