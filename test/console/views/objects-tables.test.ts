/** The console's tables of objects, in a browser: live, custom kinds, rights, and the past. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCluster } from '../../../library/start-cluster.ts'
import type { Cluster } from '../../../library/types.ts'
import { accessibilityFaultsInBoth } from '../../support/axe.ts'
import { openBrowser } from '../../support/chromium.ts'
import { serveConsole, type ServedConsole } from '../../support/served-console.ts'

let cluster: Cluster
let browser: Browser
let consoleOfAdmin: ServedConsole

const configMap = (name: string, namespace = 'default', data: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels: { app: name } },
  data,
})

const widgets = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.shop.example.com' },
  spec: {
    group: 'shop.example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { size: { type: 'integer' } } },
            },
          },
        },
        additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
      },
    ],
  },
}

beforeAll(async () => {
  cluster = await startCluster({ objects: [configMap('first'), configMap('second')] })
  browser = await openBrowser()
  consoleOfAdmin = await serveConsole(cluster.kubeconfig())
})

afterAll(async () => {
  await browser?.close()
  await consoleOfAdmin?.[Symbol.asyncDispose]()
  await cluster?.stop()
})

const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
const shows = async (page: Page, name: string) =>
  await row(page, name).first().waitFor({ state: 'visible' })
const leaves = async (page: Page, name: string) =>
  await row(page, name).first().waitFor({ state: 'detached' })

/** Runs in the page, whose globals tests do not know. */
const measuring = `(async () => {
  const took = []
  for (let turn = 0; turn < 10; turn += 1) {
    const name = 'measured-' + turn
    const shown = new Promise((resolve) => {
      const observer = new MutationObserver(() => {
        if (!document.body.textContent.includes(name)) return
        observer.disconnect()
        resolve()
      })
      observer.observe(document.body, { childList: true, subtree: true, characterData: true })
    })
    const begun = performance.now()
    await fetch('/cluster/api/v1/namespaces/default/configmaps', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-skiff-console': '1' },
      body: JSON.stringify({ metadata: { name } }),
    })
    await shown
    took.push(performance.now() - begun)
  }
  return took
})()`

describe('a table of objects', () => {
  it('shows objects within half a second of their creation', async () => {
    const page = await consoleOfAdmin.open(browser, '#/objects/core/v1/configmaps')
    await shows(page, 'first')
    const took = (await page.evaluate(measuring)) as number[]
    // From before the request. The fastest of ten: the machine may be busy with something else for most of them, not for all.
    expect(Math.min(...took)).toBeLessThan(500)
    process.stderr.write(`shown after ${took.map(Math.round).join(', ')} ms\n`)
    await page.close()
  })

  it('lets changed rows glow and strikes deleted ones through before they leave', async () => {
    const page = await consoleOfAdmin.open(browser, '#/objects/core/v1/configmaps')
    await shows(page, 'second')
    await cluster.admin.apply(configMap('second', 'default', { a: 'b' }))
    await page.locator('tr.glow-odd, tr.glow-even').filter({ hasText: 'second' }).waitFor()
    await cluster.admin.apply(configMap('short-lived'))
    await shows(page, 'short-lived')
    await cluster.admin.delete({ kind: 'ConfigMap', name: 'short-lived' })
    await page.locator('tr.gone').filter({ hasText: 'short-lived' }).waitFor()
    await leaves(page, 'short-lived')
    await page.close()
  })

  it('selects by namespace, label and text, and keeps the selection in its place', async () => {
    const page = await consoleOfAdmin.open(browser, '#/objects/core/v1/configmaps')
    await shows(page, 'kube-root-ca.crt')
    await page.getByRole('textbox', { name: 'Labels' }).fill('app in (first,second)')
    await page.keyboard.press('Enter')
    await leaves(page, 'kube-root-ca.crt')
    await shows(page, 'first')
    expect(new URL(page.url()).hash).toContain('labels=app')
    await page.getByRole('searchbox', { name: 'Filter' }).fill('sec')
    await leaves(page, 'first')
    await page.locator('.count').filter({ hasText: '1 of 2' }).waitFor()
    await page.getByRole('textbox', { name: 'Labels' }).fill('a in (')
    await page.keyboard.press('Enter')
    await page.getByRole('status').filter({ hasText: 'unable to parse' }).waitFor()
    await page.close()
  })

  it('draws only the rows in view of thousands, sorted by a column', async () => {
    const objects = Array.from({ length: 1500 }, (_, index) =>
      configMap(`many-${index}`, 'kube-public'),
    )
    await cluster.apply(...objects)
    const place = '#/objects/core/v1/configmaps?namespace=kube-public'
    const page = await consoleOfAdmin.open(browser, place)
    await page
      .locator('.count')
      .filter({ hasText: /^1,50\d$/ })
      .waitFor()
    expect(await page.getByRole('row').count()).toBeLessThan(80)
    await page.getByRole('button', { name: 'Name' }).click()
    await page.getByRole('button', { name: 'Name' }).click()
    await shows(page, 'many-999')
    await page.getByRole('region', { name: 'ConfigMap objects' }).evaluate((element) => {
      const region = element as unknown as { scrollTop: number; scrollHeight: number }
      region.scrollTop = region.scrollHeight
    })
    await shows(page, 'kube-root-ca.crt')
    expect(await page.getByRole('row').count()).toBeLessThan(80)
    await page.close()
  })

  it('shows custom kinds with their own columns as soon as they are defined', async () => {
    const page = await consoleOfAdmin.open(browser, '#/objects')
    const link = page.getByRole('link', { name: 'Widget' })
    await page.getByRole('link', { name: 'Deployment' }).waitFor()
    expect(await link.count()).toBe(0)
    await cluster.apply(widgets)
    await link.click()
    await page.getByText('There are no widgets.shop.example.com here.').waitFor()
    await cluster.apply({
      apiVersion: 'shop.example.com/v1',
      kind: 'Widget',
      metadata: { name: 'big' },
      spec: { size: 42 },
    } as never)
    await row(page, 'big').filter({ hasText: '42' }).waitFor()
    await cluster.admin.delete({ kind: 'CustomResourceDefinition', name: widgets.metadata.name })
    await link.waitFor({ state: 'detached' })
    await page.close()
  })

  it('shows the past of lists and objects, and then changes nothing', async () => {
    await cluster.admin.apply(configMap('old', 'default', { color: 'blue' }))
    const page = await consoleOfAdmin.open(
      browser,
      '#/objects/core/v1/configmaps/default/old?tab=history',
    )
    await page.getByRole('heading', { name: '1 version since' }).waitFor()
    await cluster.admin.apply(configMap('old', 'default', { color: 'green' }))
    await page.getByText('data.color').waitFor()
    await page.getByRole('button', { name: 'Show the cluster then' }).last().click()
    await page.getByText('As of revision').waitFor()
    await page.getByRole('tab', { name: 'Tree' }).click()
    await page.getByText('blue').waitFor()
    expect(await page.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true)
    await cluster.admin.apply(configMap('newer'))
    await page.getByRole('link', { name: 'configmaps', exact: true }).click()
    await shows(page, 'old')
    expect(await row(page, 'newer').count()).toBe(0)
    await page.getByRole('button', { name: 'Back to now' }).click()
    await shows(page, 'newer')
    await page.close()
  })
})

describe('a viewer who may see one namespace', () => {
  it('sees what is denied, and the objects of that namespace', async () => {
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' }
    const subjects = [{ apiGroup: roleRef.apiGroup, kind: 'User', name: 'jane' }]
    const metadata = { name: 'reader', namespace: 'default' }
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    await cluster.apply(
      { apiVersion, kind: 'Role', metadata, rules } as never,
      { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects } as never,
    )
    await using ofJane = await serveConsole(cluster.kubeconfig(), {
      as: { user: 'jane', groups: [] },
    })
    const page = await ofJane.open(browser, '#/objects/core/v1/configmaps')
    await page.getByText('You may not see configmaps in all namespaces').waitFor()
    await page.getByRole('combobox', { name: 'Namespace' }).fill('default')
    await page.keyboard.press('Enter')
    await shows(page, 'first')
    await page.getByRole('link', { name: 'Secret' }).click()
    await page.getByText('You may not see secrets').waitFor()
    const one = '#/objects/core/v1/configmaps/default/first?tab=yaml'
    await page.goto(`http://127.0.0.1:${ofJane.port}/${one}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('textbox', { name: 'YAML' }).press('Control+End')
    await page.keyboard.type('# comment')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByRole('alert').filter({ hasText: 'cannot update resource' }).waitFor()
    await page.close()
  })
})

describe('tables and kinds', () => {
  it('have no faults that axe finds, in light and dark, wide and narrow', async () => {
    const page = await consoleOfAdmin.open(browser, '#/objects/core/v1/pods?wide=1')
    await page.getByRole('link', { name: 'Deployment' }).waitFor()
    await page.goto(`http://127.0.0.1:${consoleOfAdmin.port}/#/objects/core/v1/configmaps`)
    await shows(page, 'first')
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await page.setViewportSize({ width: 360, height: 740 })
    await page.getByRole('button', { name: /^Kinds/ }).click()
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    const overflow = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    expect(overflow).toBe(0)
    await page.close()
  })
})
