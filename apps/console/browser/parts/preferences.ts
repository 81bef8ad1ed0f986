import { createContext, useContext } from 'react'
import type { Zone } from '../../values/times.ts'
import { readStored, store, useStored } from './stored.ts'

/** What a person has chosen in this browser. */
interface Preferences {
  readonly theme: 'system' | 'light' | 'dark'
  /** `local`, `UTC`, or `merchant` for the zone of the merchant that a page is about. */
  readonly zone: 'local' | 'UTC' | 'merchant'
}

type Name = keyof Preferences

const DEFAULTS: Preferences = { theme: 'system', zone: 'local' }

/** Changes a preference, also on the parts of the page that show it. */
export function prefer<N extends Name>(name: N, value: Preferences[N]): void {
  store(name, value)
  applyTheme()
}

/** Shows the page in the chosen colours. */
export function applyTheme(): void {
  document.documentElement.dataset['theme'] = readStored('theme', DEFAULTS.theme)
}

/** A preference of this person. */
export function usePreference<N extends Name>(name: N): Preferences[N] {
  return useStored(name, DEFAULTS[name])
}

/** The zone of the merchant that a page is about, as a name of the IANA list; empty on other pages. */
export const MerchantZoneContext = createContext('')

/** The time zone in which this person reads times. */
export function useZone(): Zone {
  const zone = usePreference('zone')
  const of_merchant = useContext(MerchantZoneContext)
  if (zone !== 'merchant') return zone
  return of_merchant === '' ? 'local' : of_merchant
}
