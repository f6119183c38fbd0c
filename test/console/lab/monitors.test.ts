/** Monitors in the Lab, in a browser: violations as they happen, and the way from one to its write. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startCluster } from '../../../library/start-cluster.ts'
import type { Cluster } from '../../../library/types.ts'
import { accessibilityFaultsInBoth } from '../../support/axe.ts'
import { openBrowser } from '../../support/chromium.ts'
import { serveConsole, type ServedConsole } from '../../support/served-console.ts'

const timeout = 60_000
const markup = `<img src=x onerror="globalThis.wasRun=1"><b class="hostile">`

let cluster: Cluster
let browser: Browser
let served: ServedConsole

beforeAll(async () => {
  cluster = await startCluster()
  browser = await openBrowser()
  served = await serveConsole(cluster.kubeconfig())
}, 180_000)

afterAll(async () => {
  await browser?.close()
  await served?.[Symbol.asyncDispose]()
  await cluster?.stop()
}, 60_000)

/** A lease that is taken from its holder long before its time is over. Gives the revision of the theft. */
async function steal(name: string): Promise<string> {
  using client = cluster.client()
  const lease = (holderIdentity: string) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'default' },
    spec: {
      holderIdentity,
      leaseDurationSeconds: 3600,
      renewTime: new Date().toISOString().replace('Z', '000Z'),
    },
  })
  const { metadata: held } = await client.create(lease('first'))
  const { resourceVersion = '' } = held as { resourceVersion?: string }
  const { metadata } = await client.replace({
    ...lease(markup),
    metadata: { name, namespace: 'default', resourceVersion },
  })
  return String((metadata as { resourceVersion?: string }).resourceVersion)
}

const section = (page: Page) => page.getByRole('region', { name: 'Monitors' })
const openSubscriptions = (page: Page) => {
  const sent: { subscribe?: number; channel?: string; unsubscribe?: number }[] = []
  page.on('websocket', (socket) =>
    socket.on('framesent', ({ payload }) => sent.push(JSON.parse(payload.toString()) as object)),
  )
  return () => {
    const ids = sent.flatMap(({ subscribe, channel }) =>
      channel === 'monitors' ? [subscribe] : [],
    )
    return ids.filter((id) => !sent.some(({ unsubscribe }) => unsubscribe === id)).length
  }
}

it('judges the cluster once they are switched on, in every view, until they are switched off', async () => {
  const page = await served.open(browser, '#/lab')
  const subscribed = openSubscriptions(page)
  await page.reload()
  await section(page).getByRole('button', { name: 'Switch monitors on' }).click({ timeout })
  await section(page).getByText('On: no violation so far.').waitFor({ timeout })
  expect(subscribed()).toBe(1)
  const revision = await steal('stolen')
  const violation = section(page)
    .getByRole('listitem')
    .filter({ hasText: 'default/stolen' })
    .first()
  await violation.getByRole('heading', { name: 'identity' }).waitFor({ timeout })
  expect(await violation.innerText()).toContain(markup)
  expect(await page.locator('.hostile, img[src="x"]').count()).toBe(0)
  expect(await page.evaluate(() => 'wasRun' in globalThis)).toBe(false)
  expect(await accessibilityFaultsInBoth(page)).toEqual([])

  await page.goto(`http://127.0.0.1:${served.port}/#/cluster`)
  const note = page.getByRole('status').filter({ hasText: 'of monitors' })
  await note.getByText('1 violation of monitors, the last of identity').waitFor({ timeout })
  await steal('stolen-too')
  await note.getByText('2 violations of monitors').waitFor({ timeout })
  expect(await accessibilityFaultsInBoth(page)).toEqual([])

  await note.getByRole('link', { name: 'Show in the Lab' }).click({ timeout })
  const link = section(page).getByRole('link', { name: `Revision ${revision} in Timeline` })
  await link.click({ timeout })
  const write = page.getByRole('complementary', { name: 'Write' })
  await write
    .getByText('leases.coordination.k8s.io default/stolen', { exact: false })
    .waitFor({ timeout })
  await write.getByText(revision, { exact: true }).waitFor({ timeout })

  await page.goto(`http://127.0.0.1:${served.port}/#/lab`)
  await section(page).getByRole('button', { name: 'Switch monitors off' }).click({ timeout })
  expect(await section(page).getByRole('listitem').count()).toBe(0)
  expect(subscribed()).toBe(0)
  await page.context().close()
})

it('says in Timeline that the journal has no write of a revision', async () => {
  const page = await served.open(browser, '#/timeline?revision=999999999')
  await page.getByText('The journal has no write of revision 999999999').waitFor({ timeout })
  expect(await page.getByRole('complementary', { name: 'Write' }).count()).toBe(0)
  await page.context().close()
})
