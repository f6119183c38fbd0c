/** Writes of the console's view Objects, in a browser: previews, conflicts, faults, deletions. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCluster } from '../../../library/start-cluster.ts'
import type { Cluster, KubernetesObject } from '../../../library/types.ts'
import { accessibilityFaultsInBoth } from '../../support/axe.ts'
import { openBrowser } from '../../support/chromium.ts'
import { serveConsole, type ServedConsole } from '../../support/served-console.ts'

let cluster: Cluster
let browser: Browser
let served: ServedConsole

interface ConfigMap extends KubernetesObject {
  readonly data: Readonly<Record<string, string>>
}

const configMap = (name: string, data: Record<string, string>) =>
  ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default' },
    data,
  }) as ConfigMap

const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'nginx' }] },
    },
  },
}

beforeAll(async () => {
  cluster = await startCluster({ objects: [web as never] })
  browser = await openBrowser()
  served = await serveConsole(cluster.kubeconfig())
  await cluster.expect({ kind: 'Deployment', name: 'web', where: 'status.readyReplicas == 2' })
})

afterAll(async () => {
  await browser?.close()
  await served?.[Symbol.asyncDispose]()
  await cluster?.stop()
})

const press = async (page: Page, name: string | RegExp) =>
  await page.getByRole('button', { name }).click()
const editor = (page: Page) => page.getByRole('textbox', { name: 'YAML' })

/** Replaces a part of the text in the editor. */
async function type(page: Page, from: string, to: string): Promise<void> {
  const text = await editor(page).inputValue()
  expect(text).toContain(from)
  await editor(page).fill(text.replace(from, to))
}

const read = async (name: string) =>
  (await cluster.admin.get<ConfigMap>({ kind: 'ConfigMap', name })).data

describe('an edit', () => {
  it('is shown as the server would store it, and written when it is applied', async () => {
    await cluster.admin.apply(configMap('plain', { color: 'blue' }))
    const page = await served.open(browser, '#/objects/core/v1/configmaps/default/plain?tab=yaml')
    await press(page, 'Edit')
    await type(page, 'color: blue', 'color: green')
    await press(page, 'Preview')
    await page.getByText('added: color: green').or(page.locator('.diff-added')).first().waitFor()
    expect(await page.locator('.diff-removed').innerText()).toContain('color: blue')
    expect(await read('plain')).toEqual({ color: 'blue' })
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await press(page, 'Apply')
    await page.getByText('Applied as revision').waitFor()
    expect(await read('plain')).toEqual({ color: 'green' })
    await page.close()
  })

  it('that meets another shows who changed what, and goes on without losing text', async () => {
    await cluster.admin.apply(configMap('shared', { a: '1', b: '2', c: '3' }))
    const page = await served.open(browser, '#/objects/core/v1/configmaps/default/shared?tab=yaml')
    await press(page, 'Edit')
    await type(page, 'a: "1"', 'a: mine # with a comment')
    await cluster.admin.patch({ kind: 'ConfigMap', name: 'shared' }, { data: { c: 'theirs' } }, {
      type: 'merge',
      fieldManager: 'someone-else',
    } as never)
    await press(page, 'Preview')
    const alert = page.getByRole('alert')
    await alert.filter({ hasText: 'The object has changed since you began' }).waitFor()
    await alert.filter({ hasText: 'someone-else' }).waitFor()
    await page.locator('.diff-added').filter({ hasText: 'c: theirs' }).waitFor()
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await press(page, 'Take over the newest and go on editing')
    const merged = await editor(page).inputValue()
    expect(merged).toContain('a: mine # with a comment')
    expect(merged).toContain('c: theirs')
    await press(page, 'Preview')
    await press(page, 'Apply')
    await page.getByText('Applied as revision').waitFor()
    expect(await read('shared')).toEqual({ a: 'mine', b: '2', c: 'theirs' })
    await page.close()
  })

  it('that the server rejects says why, field by field, and keeps the text', async () => {
    const page = await served.open(browser, '#/objects/apps/v1/deployments/default/web?tab=yaml')
    await press(page, 'Edit')
    await type(page, 'replicas: 2', 'replicas: -1')
    await press(page, 'Preview')
    const alert = page.getByRole('alert')
    await alert.getByText('spec.replicas', { exact: true }).waitFor()
    expect(await alert.locator('dd').innerText()).toContain('must be greater than or equal to 0')
    await type(page, 'replicas: -1', 'replicsa: 3')
    await press(page, 'Preview')
    await alert.filter({ hasText: 'unknown field "spec.replicsa"' }).waitFor()
    await type(page, 'replicsa: 3', 'replicas: [')
    await press(page, 'Preview')
    await alert.filter({ hasText: /\(\d+:\d+\)/ }).waitFor()
    expect(await editor(page).inputValue()).toContain('replicas: [')
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await page.close()
  })
})

describe('a new manifest', () => {
  it('is applied by the console as field manager, with the warnings of the server', async () => {
    const page = await served.open(browser, '#/objects/new')
    const pod = [
      'apiVersion: v1',
      'kind: Pod',
      'metadata:',
      '  name: fresh',
      '  annotations: {a: b}',
      'spec:',
      '  nodeSelector: {failure-domain.beta.kubernetes.io/zone: a}',
      '  containers:',
      '  - {name: main, image: nginx}',
    ]
    await editor(page).fill(pod.join('\n'))
    await press(page, 'Preview')
    await page.getByRole('list', { name: 'Warnings of the server' }).waitFor()
    await press(page, 'Apply')
    await page.getByRole('link', { name: 'Show fresh' }).click()
    await page.getByRole('tab', { name: 'Fields' }).click()
    await page.getByRole('cell', { name: 'skiff-console' }).waitFor()
    await page.close()
  })

  it('that takes fields of another manager says whose, and can take them', async () => {
    await cluster.admin.apply(configMap('owned', { a: 'theirs' }))
    const page = await served.open(browser, '#/objects/new')
    const lines = ['apiVersion: v1', 'kind: ConfigMap', 'metadata:', '  name: owned', 'data:']
    await editor(page).fill([...lines, '  a: mine', ''].join('\n'))
    await press(page, 'Preview')
    await page.getByRole('alert').filter({ hasText: 'kube-skiff' }).waitFor()
    await press(page, 'Preview taking them')
    await press(page, 'Apply')
    await page.getByText('Applied as revision').waitFor()
    expect(await read('owned')).toEqual({ a: 'mine' })
    await page.close()
  })
})

describe('one object', () => {
  it('is a graph with what it owns, which follows changes', async () => {
    const page = await served.open(browser, '#/objects/apps/v1/deployments/default/web?tab=owners')
    const pods = page
      .getByRole('region', { name: 'Owners' })
      .getByRole('link', { name: /^Pod .*web-/ })
    await expect.poll(() => pods.count()).toBe(2)
    await page.getByRole('link', { name: /^ReplicaSet .*web-/ }).waitFor()
    await cluster.admin.patch(
      { kind: 'Deployment', name: 'web' },
      { spec: { replicas: 3 } },
      { type: 'merge' },
    )
    await expect.poll(() => pods.count()).toBe(3)
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await pods.first().click()
    await page.getByRole('link', { name: /^Deployment .*web/ }).waitFor()
    await page.close()
  })

  it('is deleted after a dry run that names what goes with it', async () => {
    const page = await served.open(browser, '#/objects/apps/v1/deployments/default/web')
    await press(page, 'Delete')
    const deletion = page.getByRole('region', { name: 'Deletion' })
    await deletion.getByText('The server would allow it.').waitFor()
    await deletion.getByText(/^ReplicaSet web-/).waitFor()
    await deletion
      .getByText(/^Pod web-/)
      .first()
      .waitFor()
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await deletion.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('The object has been deleted').waitFor()
    await page.close()
  })
})
