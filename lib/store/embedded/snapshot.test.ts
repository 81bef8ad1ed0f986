import { expect, test } from '@jest/globals'
import type { Transaction } from 'lmdb'
import type { Table } from './environment.ts'
import { beginTogether } from './snapshot.ts'

test('the transactions of all tables begin while every writer is locked out', async () => {
  const locked = new Set<string>()
  const began: Record<string, readonly string[]> = {}
  const tableOf = (name: string) => ({
    transactionSync(work: () => unknown) {
      locked.add(name)
      work()
      locked.delete(name)
    },
    resetReadTxn() {},
    useReadTransaction(): Transaction {
      began[name] = [...locked]
      return { done() {} }
    },
  })
  const tables = [tableOf('a'), tableOf('b'), tableOf('c')] as unknown as readonly Table[]
  expect(await beginTogether(tables)).toHaveLength(3)
  expect(began).toEqual({ a: ['a', 'b', 'c'], b: ['a', 'b', 'c'], c: ['a', 'b', 'c'] })
  expect([...locked]).toEqual([])
})
