/** Chromium for tests of the console's page. */
import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'
import { describe, test } from 'vitest'

const programs = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** The installed program. Throws an error that says what to install. */
function chromiumPath(): string {
  const path = programs.find((program) => existsSync(program))
  if (path === undefined) {
    throw new Error(
      `no Chromium in ${programs.join(', ')}: install it (Debian: apt-get install chromium)`,
    )
  }
  return path
}

/** A browser without a window; the caller closes it. */
export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: chromiumPath(),
    // Tests may run as root, where Chromium's sandbox refuses to start.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  })
}

/** The tests that need Chromium. Where it is not installed they are skipped, and standard error says so. */
export function requireChromium(): typeof describe | typeof describe.skip {
  if (programs.some((program) => existsSync(program))) return describe
  const message =
    'NOT TESTED: the page of the console; there is no Chromium (apt-get install chromium)'
  process.stderr.write(`${message}\n`)
  test.skip(message, () => {})
  return describe.skip
}
