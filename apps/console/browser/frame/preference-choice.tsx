import type { ReactNode } from 'react'
import { prefer, usePreference } from '../parts/preferences.ts'

/** The time zone and the colours of this browser. */
export function PreferenceChoice({ className }: { readonly className?: string }): ReactNode {
  const theme = usePreference('theme')
  const zone = usePreference('zone')
  return (
    <>
      <select
        aria-label="Time zone"
        value={zone}
        onChange={({ target }) => prefer('zone', target.value as typeof zone)}
        className={className}
      >
        <option value="local">local time</option>
        <option value="UTC">UTC</option>
        <option value="merchant">merchant's time</option>
      </select>
      <select
        aria-label="Colours"
        value={theme}
        onChange={({ target }) => prefer('theme', target.value as typeof theme)}
        className={className}
      >
        <option value="system">system colours</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </>
  )
}
