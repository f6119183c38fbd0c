/** Takes the pictures of docs/console.md: every view of the console in light and dark, on a cluster of its own. Needs Chromium and the build. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { startCluster } from '../cluster/cluster.ts'
import { linkOfConsole } from '../cluster/find-console.ts'
import type { Deployment, Pod } from '../components/api/generated/types.ts'
import type { Client } from '../components/client/client.ts'
import { resourcesOf } from '../components/api/resources.ts'
import { systemClock } from '../components/component-base/clock.ts'

const folder = join(import.meta.dirname, '../docs/pictures/console')
const namespace = 'default'
const views = ['cluster', 'objects', 'timeline', 'requests', 'join', 'scheduling', 'lab', 'lessons']
const finding = join(import.meta.dirname, '../test/console/lab/finding.json')
/** Below the head of the page, which stays. */
const toTop = async (page: Page, selector: string): Promise<void> =>
  await page.evaluate(
    `document.querySelector(${JSON.stringify(selector)}).scrollIntoView(); scrollBy(0, -110)`,
  )
const program = '/usr/bin/chromium'

function deployment(name: string, replicas: number): Deployment {
  const labels = { app: name }
  const spec = { containers: [{ name: 'main', image: `example.com/${name}:1` }] }
  return {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace } },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  }
}

/** A pod that fits nowhere. */
function largePod(): Pod {
  const resources = { requests: { cpu: '900' } }
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'large', namespace } },
    spec: { containers: [{ name: 'main', image: 'example.com/large:1', resources }] },
  }
}

/** A lease that one holder takes from another long before its time is over, which monitors report. */
async function stealLease({ resource, dialect }: Client): Promise<void> {
  const leases = resource(resourcesOf(dialect).leases)
  const metadata = { name: 'shop-leader', namespace }
  const held = (holderIdentity: string) => ({
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata },
    spec: {
      ...{ holderIdentity, leaseDurationSeconds: 3600 },
      renewTime: new Date().toISOString().replace('Z', '000Z'),
    },
  })
  const { metadata: first } = await leases.create(held('shop-1'))
  const { resourceVersion = '' } = first
  await leases.update({ ...held('shop-2'), metadata: { ...metadata, resourceVersion } })
}

async function takeBoth(page: Page, name: string): Promise<void> {
  // Lists and charts fill; what has just changed no longer glows.
  await page.waitForTimeout(2500)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.waitForTimeout(1200)
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) })
  }
}

/** The parts of the Lab below its first screen. */
async function takeLab(page: Page, origin: string, client: Client): Promise<void> {
  await page.goto(`${origin}/#/lab`)
  const monitors = page.getByRole('region', { name: 'Monitors' })
  await monitors.getByRole('button', { name: 'Switch monitors on' }).click()
  await monitors.getByText('On: no violation so far.').waitFor()
  await stealLease(client)
  const violation = monitors.getByRole('listitem').first()
  await violation.waitFor()
  await toTop(page, '#snapshots')
  await takeBoth(page, 'lab-monitors')
  await monitors.getByRole('button', { name: 'Switch monitors off' }).click()
  await page.getByLabel(/Finding of skiff explore/).setInputFiles(finding)
  await page.getByRole('region', { name: 'Finding', exact: true }).waitFor()
  await toTop(page, '.finding')
  await takeBoth(page, 'lab-finding')
}

async function take(page: Page, origin: string): Promise<void> {
  for (const view of views) {
    await page.goto(`${origin}/#/${view}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await takeBoth(page, view)
  }
}

mkdirSync(folder, { recursive: true })
await using cluster = await startCluster({
  ...{ name: 'pictures', nodes: 3, simulatedNodes: 9, port: 0, console: true, lifetime: 'owner' },
})
const { deployments, pods } = resourcesOf(cluster.client.dialect)
for (const [name, replicas] of [
  ['web', 24],
  ['shop', 12],
  ['queue', 6],
] as const) {
  await cluster.client.resource<Deployment>(deployments).create(deployment(name, replicas))
}
await cluster.client.resource<Pod>(pods).create(largePod())
const link = await linkOfConsole(cluster, systemClock)
if (link === undefined) throw new Error('the console is not ready')
const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] })
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  await page.goto(link)
  const { origin } = new URL(link)
  await take(page, origin)
  await takeLab(page, origin, cluster.client)
} finally {
  await browser.close()
}
