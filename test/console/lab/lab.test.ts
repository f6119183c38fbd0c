/** Lab, Join and Scheduling in a browser, on one cluster of processes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Cluster } from '../../../cluster/cluster.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { openSavedFile } from '../../../components/store/saved-cluster-file.ts'
import { createScenarioRuns, listScenarios } from '../../../console/server/lab/scenario-runs.ts'
import { createPlace } from '../../e2e/place.ts'
import { accessibilityFaultsInBoth } from '../../support/axe.ts'
import { openBrowser } from '../../support/chromium.ts'
import { serveConsole, type ServedConsole } from '../../support/served-console.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const place = createPlace()
let cluster: Cluster
let browser: Browser
let served: ServedConsole

const large = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name: 'large' },
  spec: {
    containers: [{ name: 'app', image: 'app', resources: { requests: { cpu: '6400' } } }],
  },
}
const quota = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { namespace: 'default', name: 'few' },
  spec: { hard: { services: '4' } },
}

beforeAll(async () => {
  cluster = await place.up('lab', ['--nodes', '1'])
  browser = await openBrowser()
  const kubeconfig = readFileSync(cluster.paths.adminKubeconfig, 'utf8')
  served = await serveConsole(kubeconfig, { place: { name: 'lab', stateRoot: place.stateRoot } })
}, 180_000)

afterAll(async () => {
  await browser?.close()
  await served?.[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
}, 60_000)

const timeout = 60_000
const shows = async (page: Page, role: 'row' | 'listitem', text: RegExp): Promise<void> =>
  await page.getByRole(role).filter({ hasText: text }).first().waitFor({ timeout })
const press = async (page: Page, name: string): Promise<void> =>
  await page.getByRole('button', { name, exact: true }).click({ timeout })

describe('the Lab', () => {
  it('kills a component, which comes back with one more restart', async () => {
    const page = await served.open(browser, '#/lab')
    await shows(page, 'row', /^scheduler\s*ready/)
    const { components } = await cluster.control.call('status', {})
    const { pid, restarts = 0 } = components.find(({ name }) => name === 'scheduler') ?? {}
    await press(page, 'kill scheduler')
    const row = page.getByRole('row').filter({ hasText: /^scheduler\s*ready/ })
    await row.getByRole('cell', { name: String(restarts + 1), exact: true }).waitFor({ timeout })
    expect(await row.textContent()).not.toContain(String(pid))
    await page.context().close()
  })

  it('pauses and resumes a component', async () => {
    const page = await served.open(browser, '#/lab')
    await press(page, 'pause controller-manager')
    await shows(page, 'row', /^controller-manager\s*paused/)
    await press(page, 'resume controller-manager')
    await shows(page, 'row', /^controller-manager\s*ready/)
    await page.context().close()
  })

  it('asks before it kills the API server, and reconnects', async () => {
    const page = await served.open(browser, '#/lab')
    await press(page, 'kill api-server')
    await page.getByRole('group', { name: 'kill api-server?' }).waitFor({ timeout })
    await press(page, 'Cancel')
    await press(page, 'kill api-server')
    await press(page, 'kill api-server')
    await page
      .getByRole('row')
      .filter({ hasText: /^api-server\s*ready/ })
      .getByRole('cell', { name: '1', exact: true })
      .waitFor({ timeout })
    await page.getByRole('alert').filter({ hasText: 'does not answer' }).waitFor({
      state: 'detached',
      timeout,
    })
    await page.context().close()
  })

  it("shows the supervisor's error", async () => {
    const page = await served.open(browser, '#/lab')
    await page.getByLabel('New node').fill('NO')
    await press(page, 'Add node')
    await page.getByText('invalid node name "NO"').waitFor({ timeout })
    await page.context().close()
  })

  it('lists scenarios with their steps, runs one, and stops it', async () => {
    const page = await served.open(browser, '#/lab')
    await page.getByLabel(/Run on this cluster/).check({ timeout })
    await press(page, 'Run checkpoint')
    const run = page.getByRole('region', { name: 'Run of checkpoint' })
    await run.getByText('passed').first().waitFor({ timeout })
    await press(page, 'Stop')
    await run.getByText('You have stopped it.').waitFor({ timeout })
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await page.context().close()
  })

  it('shows one run for each combination of a matrix', async () => {
    const file = join(temporaryFolder('scenarios'), 'sizes.yaml')
    writeFileSync(
      file,
      `description: Each size.
matrix: { size: [one, two] }
steps:
  - create: { apiVersion: v1, kind: ConfigMap, metadata: { name: 'size-\${size}' } }
  - expect: { kind: ConfigMap, name: size-one }
  - name: only the second has it
    expect: { kind: ConfigMap, name: size-two, within: 100ms }
`,
    )
    const runs = createScenarioRuns(systemClock, () => [file])
    const server = createServer(
      (_, response) =>
        void runs.run({ name: 'sizes', stateRoot: place.stateRoot, clusterName: 'lab' }, response),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const body = await (await fetch(`http://127.0.0.1:${port}`)).text()
    // What the console of a package with this scenario would answer.
    const page = await served.open(browser, '#/cluster')
    const contentType = 'application/json'
    await page.route('**/lab/scenarios', (route) =>
      route.fulfill({ contentType, json: listScenarios(() => [file]) }),
    )
    await page.route('**/lab/scenarios/sizes*', (route) => route.fulfill({ contentType, body }))
    await page.getByRole('link', { name: 'Lab' }).click({ timeout })
    await press(page, 'Run sizes')
    const run = page.getByRole('region', { name: 'Run of sizes' })
    await run.getByRole('heading', { name: 'sizes: failed', exact: true }).waitFor({ timeout })
    expect(await run.getByRole('heading').allInnerTexts()).toEqual([
      'sizes: failed',
      'sizes[size=one]: failed',
      'sizes[size=two]: passed',
    ])
    const marks = await run.getByRole('listitem').locator('.dim').allInnerTexts()
    const outcomes = marks.filter((mark) => /^(passed|failed|not run)$/.test(mark))
    expect(outcomes).toEqual(['passed', 'passed', 'failed', 'passed', 'passed', 'passed'])
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await page.context().close()
  })

  it("pauses the clock and advances it: a pod's grace period ends when its time has come", async () => {
    const { pods } = resourcesOf(cluster.client.dialect)
    const all = cluster.client.resource(pods)
    const at = { namespace: 'default', name: 'leaving' }
    const isGone = async (): Promise<boolean> =>
      (await all.list({ namespace: 'default' })).items.every(
        ({ metadata }) => metadata.name !== at.name,
      )
    await all.create({
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: at },
      spec: {
        nodeName: 'node-1',
        terminationGracePeriodSeconds: 40,
        containers: [
          { name: 'app', image: 'app', lifecycle: { preStop: { sleep: { seconds: 38 } } } },
        ],
      },
    })
    await expect
      .poll(async () => (await all.get(at))['status'].phase as string, { timeout })
      .toBe('Running')
    onTestFinished(async () => void (await cluster.lab.time.resume()))
    const page = await served.open(browser, '#/lab')
    const time = page.locator('.clock-time')
    await press(page, 'Pause the clock')
    await page
      .locator('.clock-pace')
      .filter({ hasText: /^paused/ })
      .waitFor({ timeout })
    await page.getByText(/^Cluster time .*, paused$/).waitFor({ timeout })
    await all.delete(at)
    const before = (await time.textContent()) ?? ''
    await page.getByRole('button', { name: 'Advance by 10s', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('advance by 10s: done, 10s passed').waitFor({ timeout })
    expect(await isGone()).toBe(false)
    await press(page, 'Advance by 1m')
    await page.getByText('advance by 1m: done, 60s passed').waitFor({ timeout })
    await expect.poll(isGone, { timeout }).toBe(true)
    const after = new Date(Date.parse(before) + 70_000).toISOString()
    await expect.poll(async () => await time.textContent(), { timeout }).toBe(after)
    await press(page, 'Step')
    await page.getByText(/^step: done/).waitFor({ timeout })
    await page.getByLabel('Advance by', { exact: true }).fill('-5m')
    await press(page, 'Advance')
    await page.getByRole('alert').filter({ hasText: 'clocks never go back' }).waitFor({ timeout })
    await page.getByLabel('Advance by', { exact: true }).fill('1000000h')
    await press(page, 'Advance')
    await press(page, 'Stop')
    await page.getByText('You have stopped it.').waitFor({ timeout })
    await press(page, 'Resume the clock')
    await page
      .locator('.clock-pace')
      .filter({ hasText: /^as fast as real time, .* ahead/ })
      .waitFor({ timeout })
    await page.context().close()
  })

  it('adds a fault by its form, counts how often it fires, and heals it', async () => {
    const page = await served.open(browser, '#/lab')
    await page.getByText('Add a fault', { exact: true }).click({ timeout })
    const form = page.getByRole('form', { name: 'Add a fault' })
    await press(page, 'Creates get 503')
    await form.getByLabel('Resources').fill('configmaps')
    await form.getByLabel('Name', { exact: true }).fill('refused')
    const times = form.getByLabel('Ends after times')
    await times.fill('some')
    await press(page, 'Add fault')
    await form.getByRole('alert').filter({ hasText: 'invalid fault' }).waitFor({ timeout })
    expect(await times.getAttribute('aria-invalid')).toBe('true')
    await form.getByText('must be a whole number from 1 on, not "some"', { exact: true }).waitFor()
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await times.fill('3')
    await times.press('Enter')
    const row = page.getByRole('row').filter({ hasText: /^refused/ })
    await row.getByText('has matched nothing so far').waitFor({ timeout })
    await row.getByText('3 times').waitFor({ timeout })
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'default', name: 'm' },
    }
    const { rest } = cluster.client
    const path = '/api/v1/namespaces/default/configmaps'
    await expect(rest.json({ method: 'POST', path, body: map })).rejects.toMatchObject({
      code: 503,
    })
    await row.getByRole('cell', { name: /^[123]$/ }).waitFor({ timeout })
    expect((await cluster.lab.faults.list()).at(-1)).toMatchObject({ name: 'refused' })
    // A client that tries again may have used it up.
    const heal = row.getByRole('button', { name: 'Heal refused' })
    if (await heal.isVisible()) await heal.click({ timeout })
    await row.getByText(/^(healed|used up)$/).waitFor({ timeout })
    await rest.json({ method: 'POST', path, body: map })
    await page.context().close()
  })

  it('heals all faults at once', async () => {
    const { faults } = cluster.lab
    const page = await served.open(browser, '#/lab')
    const heal = page.getByRole('button', { name: 'Heal all faults', exact: true })
    const all = { first: 'configmaps', second: 'secrets' }
    for (const [name, resource] of Object.entries(all)) {
      expect(await heal.count()).toBe(0)
      await faults.add({
        name,
        kind: 'requests',
        fault: {
          match: { resources: [resource], verbs: ['create'] },
          action: { status: { code: 503 } },
        },
      })
      await shows(page, 'row', new RegExp(`^${name}`))
    }
    await heal.click({ timeout })
    for (const name of Object.keys(all))
      await shows(page, 'row', new RegExp(`^${name}.*healed`, 's'))
    await heal.waitFor({ state: 'detached', timeout })
    const active = (await faults.list()).filter(({ ended }) => ended === undefined)
    expect(active).toEqual([])
    await page.context().close()
  })

  it('saves the cluster to a file that another one can begin with, with Secrets only when asked', async () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'default', name: 'password' },
      stringData: { password: 'hunter2' },
    }
    const path = '/api/v1/namespaces/default/secrets'
    await cluster.client.rest.json({ method: 'POST', path, body: secret })
    const page = await served.open(browser, '#/lab')
    const save = async () => {
      const [download] = await Promise.all([
        page.waitForEvent('download', { timeout }),
        press(page, 'Save the cluster to a file'),
      ])
      const file = join(temporaryFolder('saved'), download.suggestedFilename())
      await download.saveAs(file)
      await using saved = await openSavedFile(file)
      const values: string[] = []
      for await (const { value } of saved.kvs) values.push(value.toString('latin1'))
      return { file, header: saved.header, text: values.join('\n') }
    }
    const without = await save()
    expect(without.header.nodes).toEqual([expect.objectContaining({ name: 'node-1' })])
    expect(without.file).toMatch(new RegExp(`/test-${without.header.revision}\\.skiff$`))
    expect(without.text).toContain('password')
    const secretData = new RegExp(`hunter2|${Buffer.from('hunter2').toString('base64')}`)
    expect(without.text).not.toMatch(secretData)
    const command = page.getByRole('region', { name: 'Command that begins a cluster' })
    expect(await command.innerText()).toBe(
      `skiff up --name test-fork --from test-${without.header.revision}.skiff`,
    )
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await page.getByLabel('With the data of Secrets').check({ timeout })
    expect((await save()).text).toMatch(secretData)
    await page.context().close()
  })

  it('refuses what the page did not send', async () => {
    const url = `http://127.0.0.1:${served.port}/lab/components/scheduler/kill`
    const answer = await fetch(url, { method: 'POST' })
    expect(answer.status).toBe(403)
  })

  it('says why there is none for a kubeconfig', async () => {
    const kubeconfig = readFileSync(cluster.paths.adminKubeconfig, 'utf8')
    await using other = await serveConsole(kubeconfig)
    const page = await other.open(browser, '#/lab')
    await page
      .getByText(/No processes, clock or faults to control: the supervisor is not/)
      .waitFor({ timeout })
    const status = await page.evaluate(async () => {
      const headers = { 'x-skiff-console': '1' }
      return (await fetch('/lab/components/scheduler/kill', { method: 'POST', headers })).status
    })
    expect(status).toBe(403)
    for (const url of ['/lab/time', '/lab/faults']) {
      const answered = await page.evaluate(async (to) => {
        const headers = { 'x-skiff-console': '1' }
        return (await fetch(to, { method: 'POST', headers, body: '{"call":"pause"}' })).status
      }, url)
      expect(answered, url).toBe(403)
    }
    expect(await page.getByRole('button', { name: 'Pause the clock' }).count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Add fault' }).count()).toBe(0)
    await page.context().close()
  })
})

describe('Join', () => {
  it('shows each step of a node that the Lab adds, and its certificate', async () => {
    const lab = await served.open(browser, '#/lab')
    const page = await served.open(browser, '#/join')
    await lab.getByLabel('New node').fill('late')
    await press(lab, 'Add node')
    const join = page.getByRole('listitem', { name: 'Join of late' })
    await join.getByText('joined', { exact: true }).waitFor({ timeout })
    for (const step of ['cluster-info', 'Token', 'Approval', 'Certificate', 'First lease']) {
      const line = join.getByRole('listitem').filter({ hasText: step }).first()
      expect(await line.getByRole('img').getAttribute('aria-label'), step).toBe('done')
    }
    const certificates = page.getByRole('region', { name: 'Certificate requests' })
    await certificates
      .getByText(/\d+[a-z] left/)
      .first()
      .waitFor({ timeout })
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await lab.context().close()
    await page.context().close()
  })

  it('never gives the secret of a token to the page', async () => {
    const { id, secret } = await cluster.createToken()
    const page = await served.open(browser, '#/join')
    await page.getByRole('region', { name: 'Bootstrap tokens' }).getByText(id).waitFor({ timeout })
    const facts = await page.evaluate(
      async () => await (await fetch('/lab/join', { headers: { 'x-skiff-console': '1' } })).text(),
    )
    expect(facts).toContain(id)
    expect(facts).not.toContain(secret)
    expect(facts).not.toContain(Buffer.from(secret).toString('base64'))
    await page.context().close()
  })
})

describe('Scheduling', () => {
  it("shows each node's verdict for a pod that fits nowhere, and what quotas leave", async () => {
    const { pods, resourceQuotas } = resourcesOf(cluster.client.dialect)
    await cluster.client.resource(resourceQuotas).create(quota)
    await cluster.client.resource(pods).create(large)
    const page = await served.open(browser, '#/scheduling')
    await page.getByRole('button', { name: /default\/large/ }).click({ timeout })
    const verdicts = page.getByRole('region', { name: 'Verdict of each node' })
    for (const node of ['node-1', 'late']) {
      const row = verdicts.getByRole('row').filter({ hasText: new RegExp(`^${node}`) })
      await row.getByText(/NodeResourcesFit: Insufficient cpu/).waitFor({ timeout })
    }
    await page.getByRole('meter', { name: 'default/few services' }).waitFor({ timeout })
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await cluster.client.resource(pods).delete({ namespace: 'default', name: 'large' })
    await page.getByText('default/large does not wait any more.').waitFor({ timeout })
    await page.context().close()
  })

  it('shows which pod made room for a more important one, and which pod that was', async () => {
    const { pods, nodes, priorityClasses } = resourcesOf(cluster.client.dialect)
    const all = cluster.client.resource(pods)
    const node = await cluster.client.resource(nodes).get({ name: 'node-1' })
    const cpu = node['status'].allocatable.cpu as string
    const filling = (name: string, more: object): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'default', name },
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': 'node-1' },
        containers: [{ name: 'app', image: 'app', resources: { requests: { cpu } } }],
        ...more,
      },
    })
    await cluster.client.resource(priorityClasses).create({
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name: 'urgent' },
      value: 1000,
    })
    await all.create(filling('modest', {}))
    const page = await served.open(browser, '#/scheduling')
    await page.getByText('Every pod has a node.').waitFor({ timeout })
    const urgent = await all.create(filling('urgent', { priorityClassName: 'urgent' }))
    const preemptions = page.getByRole('region', { name: 'Preemptions' }).getByRole('listitem')
    const line = preemptions.filter({ hasText: 'Pod default/modest' })
    await line
      .getByText(`Preempted by pod ${urgent.metadata.uid} on node node-1`)
      .waitFor({ timeout })
    expect(await accessibilityFaultsInBoth(page)).toEqual([])
    await page.getByText('Every pod has a node.').waitFor({ timeout })
    await all.delete({ namespace: 'default', name: 'urgent' })
    await page.context().close()
  })
})
