/** Objects full of markup in the console, logs and shells: in a browser, nothing of it runs or becomes an element. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCluster } from '../../../library/start-cluster.ts'
import type { Cluster } from '../../../library/types.ts'
import { accessibilityFaultsInBoth } from '../../support/axe.ts'
import { openBrowser } from '../../support/chromium.ts'
import { serveConsole, type ServedConsole } from '../../support/served-console.ts'

const markup = `<img src=x onerror="globalThis.wasRun=1"><b class="hostile">'"&amp;`
/** A name may hold neither slash nor percent sign. */
const hostileName = '<img src=x onerror=globalThis.wasRun=1><b class=hostile>'

let cluster: Cluster
let browser: Browser
let served: ServedConsole

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'hostile', namespace: 'default', annotations: { note: markup } },
  spec: {
    containers: [
      {
        name: 'main',
        image: 'nginx',
        command: ['sh', '-c', `echo '${hostileName}'; sleep 100000`],
      },
    ],
    restartPolicy: 'Never',
  },
}

const things = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.shop.example.com' },
  spec: {
    group: 'shop.example.com',
    scope: 'Namespaced',
    names: { plural: 'things', singular: 'thing', kind: 'Thing' },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        ...{ deprecated: true, deprecationWarning: markup },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
        additionalPrinterColumns: [
          { name: markup, description: markup, type: 'string', jsonPath: '.spec.text' },
        ],
      },
    ],
  },
}

const thing = {
  apiVersion: 'shop.example.com/v1',
  kind: 'Thing',
  metadata: { name: 'hostile', namespace: 'default', annotations: { note: markup } },
  spec: { text: markup, [markup]: { [markup]: [markup] } },
  status: { conditions: [{ type: markup, status: 'True', reason: markup, message: markup }] },
}

function eventAbout(uid: string | undefined) {
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'hostile', namespace: 'default' },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'hostile', uid },
    ...{ reason: markup, message: markup, type: 'Warning' },
    firstTimestamp: new Date().toISOString().replace(/\.\d+/, ''),
  }
}

beforeAll(async () => {
  cluster = await startCluster()
  await cluster.apply(pod as never, things)
  await cluster.apply(
    thing as never,
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: hostileName },
      rules: [],
    } as never,
  )
  const fieldManager = encodeURIComponent(markup)
  await cluster.admin.request({
    method: 'POST',
    path: `/api/v1/namespaces/default/configmaps?fieldManager=${fieldManager}`,
    body: { metadata: { name: 'hostile' }, data: { text: `${markup}\n${markup}` } },
  })
  const [running] = await cluster.expect({
    ...{ kind: 'Pod', name: 'hostile', where: 'status.phase == Running' },
  })
  await cluster.admin.create(eventAbout(running?.metadata?.uid) as never)
  browser = await openBrowser()
  served = await serveConsole(cluster.kubeconfig())
})

afterAll(async () => {
  await browser?.close()
  await served?.[Symbol.asyncDispose]()
  await cluster?.stop()
})

async function expectHarmless(page: Page): Promise<void> {
  expect(await page.locator('.hostile, img[src="x"]').count()).toBe(0)
  expect(await page.evaluate(() => 'wasRun' in globalThis)).toBe(false)
}

/** Every tab of an object, with a text that shows that it has been drawn. */
async function visitTabs(page: Page, tabs: readonly string[]): Promise<void> {
  for (const tab of tabs) {
    await page.getByRole('tab', { name: tab, exact: true }).click()
    await page.getByRole('tabpanel').getByText('hostile').first().waitFor()
    await expectHarmless(page)
  }
}

describe('objects full of markup', () => {
  it('are text in tables: names, cells, and names of columns', async () => {
    const page = await served.open(browser, '#/objects/shop.example.com/v1/things')
    await page.getByRole('button', { name: markup }).waitFor()
    await page.getByRole('cell', { name: markup }).waitFor()
    await expectHarmless(page)
    const roles = '#/objects/rbac.authorization.k8s.io/v1/clusterroles'
    await page.goto(`http://127.0.0.1:${served.port}/${roles}`)
    await page.getByRole('searchbox', { name: 'Filter' }).fill('img')
    await page.getByRole('link', { name: hostileName }).click()
    await page.getByRole('heading', { name: hostileName }).waitFor()
    await expectHarmless(page)
    await page.close()
  })

  it('are text in every tab, and in previews with warnings', async () => {
    const page = await served.open(browser, '#/objects/shop.example.com/v1/things/default/hostile')
    await visitTabs(page, ['Overview', 'Tree', 'YAML', 'Fields', 'History'])
    await page.getByRole('tab', { name: 'YAML' }).click()
    await page.getByRole('button', { name: 'Edit' }).click()
    const editor = page.getByRole('textbox', { name: 'YAML' })
    const text = await editor.inputValue()
    await editor.fill(text.replace('text:', 'more: "<b class=hostile>"\n  text:'))
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByRole('list', { name: 'Warnings of the server' }).getByText('hostile').waitFor()
    await expectHarmless(page)
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await page.close()
  })

  it('are text as field managers and in events', async () => {
    const page = await served.open(
      browser,
      '#/objects/core/v1/configmaps/default/hostile?tab=fields',
    )
    await page.getByRole('cell', { name: markup }).waitFor()
    await expectHarmless(page)
    await page.goto(`http://127.0.0.1:${served.port}/#/objects/core/v1/pods/default/hostile`)
    await page.getByRole('region', { name: 'Events' }).getByText(markup).first().waitFor()
    await expectHarmless(page)
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await page.close()
  })
})

describe('a pod', () => {
  it('shows its log as it is written, with markup as text', async () => {
    const page = await served.open(browser, '#/objects/core/v1/pods/default/hostile?tab=log')
    await page.getByRole('log').getByText(hostileName).waitFor()
    await page.getByRole('status').filter({ hasText: 'Following' }).waitFor()
    await expectHarmless(page)
    await page.getByRole('checkbox', { name: 'Before the last restart' }).check()
    await page.getByRole('status').filter({ hasText: 'previous terminated container' }).waitFor()
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await page.close()
  })

  it('has a shell with history, whose output is text', async () => {
    const page = await served.open(browser, '#/objects/core/v1/pods/default/hostile?tab=shell')
    const input = page.getByRole('textbox', { name: 'Command' })
    await page.getByRole('status').filter({ hasText: 'Connected' }).waitFor()
    await input.fill(`echo "${hostileName}"`)
    await input.press('Enter')
    await page.getByRole('log').getByText(hostileName, { exact: true }).waitFor()
    await expectHarmless(page)
    await input.press('ArrowUp')
    expect(await input.inputValue()).toContain('echo')
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await input.fill('exit 3')
    await input.press('Enter')
    await page.getByRole('log').getByText('exit status 3').waitFor()
    await page.getByRole('button', { name: 'Open again' }).click()
    await page.getByRole('status').filter({ hasText: 'Connected' }).waitFor()
    await page.close()
  })
})

describe('a viewer without the right to exec', () => {
  it('sees why there is no shell', async () => {
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }]
    await cluster.apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'jane' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects,
    } as never)
    await using ofJane = await serveConsole(cluster.kubeconfig(), {
      as: { user: 'jane', groups: [] },
    })
    const page = await ofJane.open(browser, '#/objects/core/v1/pods/default/hostile?tab=shell')
    await page
      .getByRole('log')
      .getByText(/cannot (get|create) resource "pods\/exec"/)
      .waitFor()
    await page.close()
  })
})
