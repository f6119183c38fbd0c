/** Scale, restart, drain and uncordon in the console's view Objects, in a browser, on a cluster with all controllers. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCluster } from '../../../library/start-cluster.ts'
import type { Cluster } from '../../../library/types.ts'
import { accessibilityFaultsInBoth } from '../../support/axe.ts'
import { openBrowser, requireChromium } from '../../support/chromium.ts'
import { serveConsole, type ServedConsole } from '../../support/served-console.ts'

const withChromium = requireChromium()
const patience = { timeout: 30_000 }

let cluster: Cluster
let browser: Browser
let served: ServedConsole

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'web', image: 'nginx' }] },
}
const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template },
}
const budget = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'all', namespace: 'default' },
  spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'web' } } },
}

const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click(patience)
const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const confirm = (page: Page, title: string, name: string): Promise<void> =>
  panel(page, title).getByRole('button', { name, exact: true }).click(patience)

withChromium('the page of an object', () => {
  beforeAll(async () => {
    cluster = await startCluster({ nodes: [{ name: 'node-1' }], objects: [web as never] })
    browser = await openBrowser()
    served = await serveConsole(cluster.kubeconfig())
    await cluster.expect({ kind: 'Deployment', name: 'web', where: 'status.readyReplicas == 1' })
  })
  afterAll(async () => {
    await browser?.close()
    await served?.[Symbol.asyncDispose]()
    await cluster?.stop()
  })

  test('scales a Deployment', async () => {
    const page = await served.open(browser, '#/objects/apps/v1/deployments/default/web')
    await press(page, 'Scale')
    const replicas = page.getByRole('textbox', { name: 'Replicas' })
    await panel(page, 'Scale Deployment web').getByText('now 1').waitFor(patience)
    await replicas.fill('many')
    await page.getByText('"many" is not a number of replicas').waitFor(patience)
    await replicas.fill('2')
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await confirm(page, 'Scale Deployment web', 'Scale')
    await cluster.expect({ kind: 'Deployment', name: 'web', where: 'status.readyReplicas == 2' })
    await panel(page, 'Scale Deployment web').waitFor({ ...patience, state: 'detached' })
    await page.context().close()
  })

  test('restarts a Deployment, and says why it cannot restart one that is paused', async () => {
    const page = await served.open(browser, '#/objects/apps/v1/deployments/default/web')
    await press(page, 'Restart')
    await confirm(page, 'Restart Deployment web', 'Restart')
    const annotation = "spec.template.metadata.annotations['kubectl.kubernetes.io/restartedAt']"
    await cluster.expect({
      kind: 'Deployment',
      name: 'web',
      where: [
        `${annotation} exists`,
        'status.observedGeneration == 3',
        'status.readyReplicas == 2',
      ],
    })
    const ref = { kind: 'Deployment', name: 'web' }
    await cluster.admin.patch(ref, { spec: { paused: true } }, { type: 'merge' })
    await press(page, 'Restart')
    await page.getByRole('alert').filter({ hasText: 'paused' }).waitFor(patience)
    await cluster.admin.patch(ref, { spec: { paused: false } }, { type: 'merge' })
    await page.context().close()
  })

  test('drains a node: waits for a budget, then evicts, and takes the node back', async () => {
    await cluster.admin.apply(budget as never)
    await cluster.expect({
      kind: 'PodDisruptionBudget',
      name: 'all',
      where: 'status.expectedPods == 2',
    })
    const page = await served.open(browser, '#/objects/core/v1/nodes/-/node-1')
    await press(page, 'Drain')
    const drain = panel(page, 'Drain node-1')
    await drain.getByText(/pods on it that are evicted: 2/).waitFor(patience)
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await confirm(page, 'Drain node-1', 'Drain')
    await drain
      .getByText(/waits: Cannot evict pod/)
      .first()
      .waitFor(patience)
    await cluster.expect({ kind: 'Node', name: 'node-1', where: 'spec.unschedulable == true' })
    await cluster.admin.delete({ kind: 'PodDisruptionBudget', name: 'all' } as never)
    await drain.getByText('node-1 is drained.').waitFor(patience)
    await cluster.expect({
      kind: 'Deployment',
      name: 'web',
      where: 'status.unavailableReplicas == 2',
    })
    await drain.getByRole('button', { name: 'Cancel' }).click(patience)
    await press(page, 'Uncordon')
    await confirm(page, 'Uncordon node-1', 'Uncordon')
    await cluster.expect({ kind: 'Deployment', name: 'web', where: 'status.readyReplicas == 2' })
    await page.context().close()
  })

  test('shows why the viewer may not', async () => {
    await using janes = await serveConsole(cluster.kubeconfig(), {
      as: { user: 'jane', groups: [] },
    })
    await cluster.admin.apply({
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' },
      metadata: { name: 'jane' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    } as never)
    const page = await janes.open(browser, '#/objects/apps/v1/deployments/default/web')
    await press(page, 'Restart')
    await confirm(page, 'Restart Deployment web', 'Restart')
    await page
      .getByRole('alert')
      .filter({ hasText: 'User "jane" cannot patch resource "deployments"' })
      .waitFor(patience)
    await page.context().close()
  })
})
