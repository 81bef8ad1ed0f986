import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
const known = new Map<string, { readonly text: string | null; readonly value: unknown }>()

/** What this browser keeps under a name; `fallback` when it keeps nothing, or nothing that can be read. Nothing of it is secret. */
export function readStored<T>(name: string, fallback: T): T {
  const text = localStorage.getItem(`multihub-${name}`)
  const last = known.get(name)
  // The same text gives the same value, so that a part of the page is drawn only after a change.
  if (last?.text === text) return last.value as T
  const value = parse(text, fallback)
  known.set(name, { text, value })
  return value
}

function parse<T>(text: string | null, fallback: T): T {
  try {
    return text === null ? fallback : (JSON.parse(text) as T)
  } catch {
    return fallback
  }
}

/** Keeps a value in this browser, and shows it on every part of the page that uses it; `undefined` forgets it. */
export function store(name: string, value: unknown): void {
  if (value === undefined) localStorage.removeItem(`multihub-${name}`)
  else localStorage.setItem(`multihub-${name}`, JSON.stringify(value))
  for (const listener of listeners) listener()
}

/** What this browser keeps under a name, as it changes, also in another tab. `fallback` must be the same object each time. */
export function useStored<T>(name: string, fallback: T): T {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      addEventListener('storage', listener)
      return () => {
        listeners.delete(listener)
        removeEventListener('storage', listener)
      }
    },
    () => readStored(name, fallback),
  )
}
