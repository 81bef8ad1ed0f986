import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { z } from 'zod'
import {
  ConfigError,
  describeConfig,
  describedSetting,
  inFileSetting,
  optionalSetting,
  readConfig,
  unknownVariables,
} from './config.ts'
import {
  booleanSetting,
  directorySetting,
  durationSetting,
  integerSetting,
  listSetting,
  portSetting,
  secretSetting,
  sizeSetting,
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
  memory_bytes: sizeSetting('T_MEMORY', { min: 1024, max: 1024 ** 3, fallback: 64 * 1024 ** 2 }),
  mongodb_uri: optionalSetting(secretSetting('T_MONGODB_URI')),
  master_key: secretSetting('T_MASTER_KEY'),
  proxies: listSetting('T_PROXIES', { of: 'CIDRs', item: z.cidrv4(), fallback: [] }),
  home: directorySetting('T_HOME', '/var/lib/multihub'),
}

const required_variables = { T_NAME: 'payments', T_MASTER_KEY: 'k' }

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
    const config = readConfig(schema, required_variables)
    expect(config).toMatchObject({
      http_port: 8080,
      workers: 4,
      name: 'payments',
      verbose: false,
      base_url: undefined,
      timeout_ms: 30_000,
      memory_bytes: 67_108_864,
      mongodb_uri: undefined,
      proxies: [],
      home: '/var/lib/multihub',
    })
    expect(config.master_key.reveal()).toBe('k')
  })

  test('reads every kind of setting', () => {
    const config = readConfig(schema, {
      ...required_variables,
      T_PORT: '0',
      T_WORKERS: '64',
      T_VERBOSE: 'true',
      T_BASE_URL: 'https://example.com/x',
      T_TIMEOUT: '1500ms',
      T_MEMORY: '3KB',
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
      memory_bytes: 3_072,
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
      T_MEMORY: '2GB',
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
    const config = readConfig(schema, { ...required_variables, T_MONGODB_URI: 'mongodb://user:hush@host' })
    expect(JSON.stringify(config)).not.toMatch(/hush/)
  })

  test('treats an empty or blank variable as absent', () => {
    expect(readConfig(schema, { ...required_variables, T_PORT: '', T_BASE_URL: '  ' })).toMatchObject({
      http_port: 8080,
      base_url: undefined,
    })
    expect(problemsOf({ T_NAME: ' ', T_MASTER_KEY: 'k' })).toEqual(['T_NAME is missing: it must be a text'])
  })

  test('freezes the result deeply', () => {
    const config = readConfig(schema, { ...required_variables, T_PROXIES: '10.0.0.0/8' })
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

// R7
describe('a secret in a file', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'multihub-config-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  const write = async (content: string | Uint8Array): Promise<string> => {
    const path = join(folder, 'secret')
    await writeFile(path, content)
    return path
  }
  const withKeyIn = (file: string, more = {}) =>
    readConfig(schema, { T_NAME: 'x', T_MASTER_KEY_FILE: file, ...more })

  test('is read without the white space around it', async () => {
    expect(withKeyIn(await write('  k1\n')).master_key.reveal()).toBe('k1')
  })

  test('is read through optionalSetting() and describedSetting(), also for a setting with a schema of its own', async () => {
    const keys = {
      one: describedSetting('Purpose.', optionalSetting(secretSetting('T_ONE'))),
      two: inFileSetting(textSetting('T_TWO')),
    }
    const path = await write('v')
    const config = readConfig(keys, { T_ONE_FILE: path, T_TWO_FILE: path })
    expect([config.one?.reveal(), config.two]).toEqual(['v', 'v'])
  })

  test('is refused when it cannot be read, is empty, is too large, or the variable is set too', async () => {
    const problem = (path: string, more = {}): string => {
      try {
        withKeyIn(path, more)
      } catch (error) {
        if (error instanceof ConfigError) return error.problems.join()
      }
      return ''
    }
    expect(problem(join(folder, 'none'))).toMatch(/^T_MASTER_KEY_FILE cannot be read \(ENOENT\)$/)
    expect(problem(folder)).toMatch(/^T_MASTER_KEY_FILE cannot be read \(EISDIR\)$/)
    expect(problem(await write(' \n'))).toBe('T_MASTER_KEY_FILE names an empty file')
    expect(problem(await write('k'.repeat(70_000)))).toMatch(
      /^T_MASTER_KEY_FILE names a file above 65536 bytes$/,
    )
    expect(problem(await write('k'), { T_MASTER_KEY: 'hush' })).toBe(
      'T_MASTER_KEY and T_MASTER_KEY_FILE are both set: remove one of them',
    )
  })

  test('belongs to secrets only', async () => {
    const path = await write('other')
    expect(readConfig(schema, { ...required_variables, T_NAME_FILE: path }).name).toBe('payments')
  })
})

// R7
describe('variables that Kubernetes injects for a service', () => {
  const links = {
    T_PORT: 'tcp://10.0.0.1:9090',
    T_PORT_9090_TCP: 'tcp://10.0.0.1:9090',
    T_PORT_9090_TCP_PROTO: 'tcp',
    T_PORT_9090_TCP_PORT: '9090',
    T_PORT_9090_TCP_ADDR: '10.0.0.1',
    T_SERVICE_HOST: '10.0.0.1',
    T_SERVICE_PORT: '9090',
    T_SERVICE_PORT_GRPC_WEB: '9091',
    T_DNS_PORT: 'udp://10.0.0.1:53',
  }

  test('are ignored, also where a setting has the same name', () => {
    expect(readConfig(schema, { ...required_variables, ...links }).http_port).toBe(8080)
  })

  test('are read where a setting asks for them by name', () => {
    const own = { kubernetes: optionalSetting(textSetting('KUBERNETES_SERVICE_HOST')) }
    expect(readConfig(own, { KUBERNETES_SERVICE_HOST: '10.0.0.1' }).kubernetes).toBe('10.0.0.1')
  })

  test('are not unknown, while misspelt settings and settings of no role are', () => {
    const variables = {
      ...required_variables,
      ...links,
      T_MASTER_KEY_FILE: '',
      T_NAMES: 'x',
      T_NAME_FILE: 'x',
      T_PORT_9090: 'x',
      T_EMPTY: '',
      OTHER: 'x',
    }
    expect(unknownVariables('T_', [schema], variables)).toEqual(['T_NAMES', 'T_NAME_FILE', 'T_PORT_9090'])
    expect(unknownVariables('T_', [schema], { ...required_variables, T_MASTER_KEY_FILE: 'x' })).toEqual([])
  })
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
  expect(rows).toContainEqual({
    variable: 'T_MEMORY',
    purpose: '',
    expected: 'a size from 1KB to 1GB, such as 64MB or 2GB',
    default: '64MB',
  })
  expect(rows).toContainEqual({ variable: 'T_NAME', purpose: '', expected: 'a text', default: 'required' })
  expect(rows.find(({ variable }) => variable === 'T_WORKERS')?.purpose).toBe('How many work.')
  expect(rows.find(({ variable }) => variable === 'T_MONGODB_URI')?.default).toBe('not set')
  expect(rows.find(({ variable }) => variable === 'T_PROXIES')?.default).toBe('none')
})
