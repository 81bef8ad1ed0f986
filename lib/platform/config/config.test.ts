import { describe, expect, test } from '@jest/globals'
import { z } from 'zod'
import { ConfigError, describeConfig, describedSetting, optionalSetting, readConfig } from './config.ts'
import {
  booleanSetting,
  directorySetting,
  durationSetting,
  integerSetting,
  listSetting,
  portSetting,
  secretSetting,
  textSetting,
  urlSetting,
} from './settings.ts'

const schema = {
  http_port: portSetting('T_PORT', 8080),
  workers: describedSetting('How many work.', integerSetting('T_WORKERS', { min: 1, max: 64, fallback: 4 })),
  name: textSetting('T_NAME'),
  verbose: booleanSetting('T_VERBOSE', false),
  base_url: optionalSetting(urlSetting('T_BASE_URL')),
  timeout_ms: durationSetting('T_TIMEOUT', { min: 1, max: 60_000, fallback: 30_000 }),
  mongodb_uri: optionalSetting(secretSetting('T_MONGODB_URI')),
  master_key: secretSetting('T_MASTER_KEY'),
  proxies: listSetting('T_PROXIES', { of: 'CIDRs', item: z.cidrv4(), fallback: [] }),
  home: directorySetting('T_HOME', '/var/lib/multihub'),
}

const least = { T_NAME: 'payments', T_MASTER_KEY: 'k' }

function problemsOf(variables: Record<string, string>): readonly string[] {
  try {
    readConfig(schema, variables)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

describe('readConfig', () => {
  test('gives the defaults when only required variables are set', () => {
    const config = readConfig(schema, least)
    expect(config).toMatchObject({
      http_port: 8080,
      workers: 4,
      name: 'payments',
      verbose: false,
      base_url: undefined,
      timeout_ms: 30_000,
      mongodb_uri: undefined,
      proxies: [],
      home: '/var/lib/multihub',
    })
    expect(config.master_key.reveal()).toBe('k')
  })

  test('reads every kind of setting', () => {
    const config = readConfig(schema, {
      ...least,
      T_PORT: '0',
      T_WORKERS: '64',
      T_VERBOSE: 'true',
      T_BASE_URL: 'https://example.com/x',
      T_TIMEOUT: '1500ms',
      T_MONGODB_URI: 'mongodb://user:hush@host',
      T_PROXIES: ' 10.0.0.0/8 , 192.168.1.0/24,',
      T_HOME: '/tmp/../srv',
    })
    expect(config).toMatchObject({
      http_port: 0,
      workers: 64,
      verbose: true,
      base_url: 'https://example.com/x',
      timeout_ms: 1500,
      proxies: ['10.0.0.0/8', '192.168.1.0/24'],
      home: '/srv',
    })
    expect(config.mongodb_uri?.reveal()).toBe('mongodb://user:hush@host')
  })

  // R7
  test('reports all problems at once, one per line, each with its variable', () => {
    const bad = {
      T_PORT: '65536',
      T_WORKERS: '1e1',
      T_VERBOSE: 'yes',
      T_BASE_URL: 'ftp://example.com',
      T_TIMEOUT: '2m',
      T_PROXIES: '10.0.0.0/8,nonsense',
      T_HOME: 'a\0b',
    }
    const problems = problemsOf(bad)
    const named = problems.map((problem) => problem.split(' ')[0])
    expect(named.sort()).toEqual([...Object.keys(bad), 'T_MASTER_KEY', 'T_NAME'].sort())
    expect(problems).toContain('T_PORT must be a port from 0 (any free one) to 65535')
    expect(problems).toContain('T_NAME is missing: it must be a text')
    expect(problems.find((problem) => problem.startsWith('T_PROXIES'))).toMatch(/\(1: /)
    expect(new ConfigError(problems).message.split('\n')).toHaveLength(problems.length + 1)
  })

  test('never shows a value', () => {
    const hush = 'hush-'.repeat(2000)
    const variables = Object.fromEntries(Object.values(schema).map(({ variable }) => [variable, hush]))
    expect(problemsOf(variables).join('\n')).not.toMatch(/hush/)
    const config = readConfig(schema, { ...least, T_MONGODB_URI: 'mongodb://user:hush@host' })
    expect(JSON.stringify(config)).not.toMatch(/hush/)
  })

  test('treats an empty or blank variable as absent', () => {
    expect(readConfig(schema, { ...least, T_PORT: '', T_BASE_URL: '  ' })).toMatchObject({
      http_port: 8080,
      base_url: undefined,
    })
    expect(problemsOf({ T_NAME: ' ', T_MASTER_KEY: 'k' })).toEqual(['T_NAME is missing: it must be a text'])
  })

  test('freezes the result deeply', () => {
    const config = readConfig(schema, { ...least, T_PROXIES: '10.0.0.0/8' })
    expect(Object.isFrozen(config)).toBe(true)
    expect(Object.isFrozen(config.proxies)).toBe(true)
  })

  test.each(['1', '+5', '05x', '0x10', '4.0', ' ', '99999999999999999999', '-1', '١'])(
    'takes %j for an integer only when it is one in range',
    (text) => {
      const small = { workers: integerSetting('T_WORKERS', { min: 1, max: 9, fallback: 7 }) }
      const read = (): unknown => readConfig(small, { T_WORKERS: text }).workers
      if (text === '1') expect(read()).toBe(1)
      else if (text === ' ') expect(read()).toBe(7)
      else expect(read).toThrow(ConfigError)
    },
  )
})

test('describeConfig gives one row per variable, with its default', () => {
  const rows = describeConfig(schema)
  expect(rows).toHaveLength(Object.keys(schema).length)
  expect(rows).toContainEqual({
    variable: 'T_TIMEOUT',
    purpose: '',
    expected: 'a time from 1ms to 1m, such as 250ms, 30s or 5m',
    default: '30s',
  })
  expect(rows).toContainEqual({ variable: 'T_NAME', purpose: '', expected: 'a text', default: 'required' })
  expect(rows.find(({ variable }) => variable === 'T_WORKERS')?.purpose).toBe('How many work.')
  expect(rows.find(({ variable }) => variable === 'T_MONGODB_URI')?.default).toBe('not set')
  expect(rows.find(({ variable }) => variable === 'T_PROXIES')?.default).toBe('none')
})
