/** A console in the test's process, for a cluster that a kubeconfig names, and pages of a browser that have opened it. */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { createConsoleLink } from '../../cluster/console-link.ts'
import { dialects } from '../../components/api/dialect.ts'
import { createClient, createClientOver } from '../../components/client/client.ts'
import { connectionFrom, parseKubeconfig } from '../../components/client/kubeconfig.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { impersonatedClient, type Impersonated } from '../../console/server/impersonated-client.ts'
import type { LabPlace } from '../../console/server/lab/lab.ts'
import { builtOnce } from '../e2e/built.ts'
import { runConsole } from '../../console/server/run-console.ts'

const assets = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'dist/console-page')

export interface ServedConsole extends AsyncDisposable {
  readonly port: number
  /** A link that has not been used. */
  link(): string
  /** A new page at the place (`#/objects`), in a context of its own that closes with the browser. */
  open(browser: Browser, place: string, options?: BrowserContextOptions): Promise<Page>
}

/** Builds the page when it is stale. */
export async function serveConsole(
  kubeconfig: string,
  { as, place }: { readonly as?: Impersonated; readonly place?: LabPlace } = {},
): Promise<ServedConsole> {
  await builtOnce()
  const connection = await connectionFrom(await parseKubeconfig(kubeconfig))
  const dialect = dialects.kubernetes
  const own = createClient({ ...connection, dialect, clock: systemClock, retries: 2 })
  const client = as === undefined ? own : createClientOver(impersonatedClient(own.rest, as), own)
  const secret = systemClock.randomBytes(32).toString('base64url')
  const host = '127.0.0.1'
  const ended = new AbortController()
  const started = Promise.withResolvers<number>()
  const running = runConsole(
    {
      ...{ name: 'test', client, host, port: 0, secret, assets, log: silentLog },
      ...(place && { place }),
      ready: ({ port }) => started.resolve(port),
    },
    ended.signal,
  )
  running.catch(started.reject)
  const port = await started.promise
  const link = (): string => createConsoleLink({ host, port, secret }, systemClock)
  return {
    port,
    link,
    open: async (browser, place, options = {}) => {
      const context = await browser.newContext(options)
      const page = await context.newPage()
      await page.goto(link())
      await page.goto(`http://${host}:${port}/${place}`)
      return page
    },
    [Symbol.asyncDispose]: async () => {
      ended.abort()
      await running
      own.close()
    },
  }
}
