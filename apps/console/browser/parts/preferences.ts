import { useSyncExternalStore } from 'react'
import type { Zone } from '../../values/times.ts'

/** What a person has chosen in this browser. Nothing of it is secret. */
interface Preferences {
  readonly theme: 'system' | 'light' | 'dark'
  readonly zone: Zone
}

type Name = keyof Preferences

const DEFAULTS: Preferences = { theme: 'system', zone: 'local' }
const listeners = new Set<() => void>()

function read<N extends Name>(name: N): Preferences[N] {
  return (localStorage.getItem(`multihub-${name}`) as Preferences[N] | null) ?? DEFAULTS[name]
}

/** Changes a preference, also on the parts of the page that show it. */
export function prefer<N extends Name>(name: N, value: Preferences[N]): void {
  localStorage.setItem(`multihub-${name}`, value)
  applyTheme()
  for (const listener of listeners) listener()
}

/** Shows the page in the chosen colours. */
export function applyTheme(): void {
  document.documentElement.dataset['theme'] = read('theme')
}

/** A preference of this person. */
export function usePreference<N extends Name>(name: N): Preferences[N] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => read(name),
  )
}

/** The time zone in which this person reads times. */
export function useZone(): Zone {
  return usePreference('zone')
}
