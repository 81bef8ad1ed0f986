import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { RESEND_METHOD } from '#lib/contract/methods.ts'
import { DEFAULT_QUOTAS, PUBLIC_METHODS } from './public-methods.ts'

const GATEWAY = join(import.meta.dirname, '..')
const sources = readdirSync(GATEWAY, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !/\.(test|fixture|generated)\.ts$/.test(path))
  .map((path) => ({ path, text: readFileSync(join(GATEWAY, path), 'utf8') }))

describe('the registry of methods', () => {
  test('holds every method that a file declares', () => {
    const declaring = sources.filter(({ text }) => /= defineMethod\(/.test(text)).map(({ path }) => path)
    const registered = PUBLIC_METHODS.map(({ name }) => `methods/${name.replaceAll('.', '-')}.ts`)
    expect(registered.sort()).toEqual(declaring.sort())
  })

  test('is generated: only the file of a method names it in code', () => {
    for (const { name } of PUBLIC_METHODS.filter((method) => method.name !== RESEND_METHOD)) {
      const own = `methods/${name.replaceAll('.', '-')}.ts`
      const naming = sources.filter(({ path, text }) => path !== own && text.includes(`'${name}'`))
      expect(naming.map(({ path }) => path)).toEqual([])
    }
  })
})

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
