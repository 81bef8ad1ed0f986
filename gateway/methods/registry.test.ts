import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { RESEND_BUCKET } from '#lib/contract/vocabulary.ts'
import { DEFAULT_QUOTAS, PUBLIC_METHODS } from './registry.ts'

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
    for (const { name } of PUBLIC_METHODS.filter((method) => method.name !== RESEND_BUCKET)) {
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
    [300_000, ['payment.in', 'payment.status']],
    [60_000, ['balance.get']],
    [10, ['payment.notification', 'webhook.resend']],
  ])('are %i per minute for %p (E10)', (quota, names) => {
    const equal = [...DEFAULT_QUOTAS].flatMap(([name, limit]) => (limit === quota ? [name] : []))
    expect(equal.sort()).toEqual(names.sort())
  })
})
