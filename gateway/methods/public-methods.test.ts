import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { METHODS } from '#lib/contract/methods.ts'
import { DEFAULT_QUOTAS, ENVELOPE_METHODS, PUBLIC_METHODS } from './public-methods.ts'

const sources = readdirSync(import.meta.dirname)
  .filter((path) => path.endsWith('.ts') && !/\.(test|fixture)\.ts$/.test(path))
  .map((path) => readFileSync(join(import.meta.dirname, path), 'utf8'))

describe('the list of methods', () => {
  test('holds every method of the contract, in its order', () => {
    expect(ENVELOPE_METHODS.map(({ name }) => name)).toEqual(METHODS)
  })

  test('holds every method that a file declares', () => {
    const declared = sources.flatMap((text) => [...text.matchAll(/^export const (\w+) = define\w+\(/gm)])
    expect(declared).toHaveLength(PUBLIC_METHODS.length)
  })

  test('is the only other place that knows a method: no code compares its name', () => {
    for (const name of METHODS) {
      const mentions = sources.flatMap((text) => text.split(`'${name}'`).slice(1))
      expect([name, mentions.length]).toEqual([name, 1 + exampleMentions(name)])
    }
  })
})

/** How often the descriptor of a method names it again, in its example. */
function exampleMentions(name: string): number {
  return sources.flatMap((text) => text.split(`method: '${name}'`).slice(1)).length
}

describe('the default quotas', () => {
  test('exist for every method but the ping', () => {
    const names = PUBLIC_METHODS.map(({ name }) => name)
    expect([...DEFAULT_QUOTAS.keys()]).toEqual(names.filter((name) => name !== 'gateway.ping'))
  })

  test.each([
    ['payment.in', 300_000],
    ['payment.status', 300_000],
    ['payment.notification', 10],
    ['balance.get', 60_000],
    ['webhook.resend', 10],
  ])('of %s is %i per minute (E10)', (name, quota) => {
    expect(DEFAULT_QUOTAS.get(name)).toBe(quota)
  })
})
