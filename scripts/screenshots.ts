/** Takes the pictures of docs/console.md: every view of the console in light and dark, on a cluster of its own. Needs Chromium and the build. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { startCluster } from '../cluster/cluster.ts'
import { linkOfConsole } from '../cluster/find-console.ts'
import type { Deployment, Pod } from '../components/api/generated/types.ts'
import { resourcesOf } from '../components/api/resources.ts'
import { systemClock } from '../components/component-base/clock.ts'

const folder = join(import.meta.dirname, '../docs/pictures/console')
const namespace = 'default'
const views = ['cluster', 'objects', 'timeline', 'requests', 'join', 'scheduling', 'lab', 'lessons']
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

async function take(page: Page, origin: string): Promise<void> {
  for (const view of views) {
    await page.goto(`${origin}/#/${view}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    // Lists and charts fill; what has just changed no longer glows.
    await page.waitForTimeout(2500)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.waitForTimeout(1200)
      await page.screenshot({ path: join(folder, `${view}-${colorScheme}.png`) })
    }
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
  await take(page, new URL(link).origin)
} finally {
  await browser.close()
}
