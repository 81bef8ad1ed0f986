import { createRequire, registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { crc32 } from 'node:zlib'
import { setGlobals } from './globals.mjs'

const require = createRequire(import.meta.url)
const GLOBALS = new URL('globals.mjs', import.meta.url).href
const ROOT = pathToFileURL(join(import.meta.dirname, '../../')).href
const RUNNER = new URL('.', import.meta.url).href
/** Whether only tests use a module. Each test file loads it again, because it holds state and adds hooks to the file. */
const isTestSide = (url) =>
  url.startsWith(ROOT) &&
  !url.startsWith(RUNNER) &&
  (/\.(test|fixture|suite)\.ts$/.test(url) || /^(test|proofs)\//.test(url.slice(ROOT.length)))

/** How often a test file has begun in this process, by the short name that its modules have in their URLs. */
const begun = new Map()
let query = ''

/**
 * The query of the modules of a test file. The first time it is the same in each process and run, so that the cache of compiled
 * code has them.
 */
function queryOf(path) {
  const name = crc32(path).toString(36)
  const times = (begun.get(name) ?? 0) + 1
  begun.set(name, times)
  return times === 1 ? `?of=${name}` : `?of=${name}&time=${times}`
}

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals') return { url: GLOBALS, format: 'module', shortCircuit: true }
    const resolved = next(specifier, context)
    return isTestSide(resolved.url) ? { ...resolved, url: `${resolved.url}${query}` } : resolved
  },
})

/**
 * Jest's loader of modules, by Node.js itself: a process loads a module once for all of its test files, as the product
 * does. Jest's own loader gives each file a copy of every module, which takes more time than most tests.
 */
export default class ProcessRuntime {
  #environment

  constructor(_config, environment, _resolver, _transformer, _texts, _coverage, path) {
    this.#environment = environment
    query = queryOf(path)
  }

  // biome-ignore lint/style/useNamingConvention: the name is Jest's.
  unstable_shouldLoadAsEsm() {
    return true
  }

  // biome-ignore lint/style/useNamingConvention: the name is Jest's.
  async unstable_importModule(path) {
    await import(pathToFileURL(path).href)
  }

  /** Jest's own modules. The collector of tests is made anew for each file, with what it keeps in the process. */
  requireInternalModule(path) {
    for (const symbol of Object.getOwnPropertySymbols(globalThis))
      if (/^(JEST_STATE_SYMBOL|EVENT_HANDLERS)$/.test(symbol.description)) delete globalThis[symbol]
    delete require.cache[path]
    return require(path)
  }

  requireModule(path) {
    return require(path)
  }

  setGlobalsForRuntime(globals) {
    const { moduleMocker: mocks, fakeTimersModern: timers } = this.#environment
    const jest = {
      fn: mocks.fn.bind(mocks),
      spyOn: mocks.spyOn.bind(mocks),
      restoreAllMocks: () => mocks.restoreAllMocks(),
      useFakeTimers: (config) => timers.useFakeTimers(config),
      useRealTimers: () => timers.useRealTimers(),
      advanceTimersByTimeAsync: (time_ms) => timers.advanceTimersByTimeAsync(time_ms),
    }
    setGlobals({ ...globals, jest })
  }

  enterTestCode() {}

  leaveTestCode() {}

  getSourceMaps() {
    return new Map()
  }

  getAllCoverageInfoCopy() {
    return undefined
  }

  teardown() {}
}
