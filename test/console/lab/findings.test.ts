/** Findings of `skiff explore` in the Lab, in a browser: a real one, and files that are none or hostile. No cluster answers. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startCluster } from '../../../library/start-cluster.ts'
import type { Cluster } from '../../../library/types.ts'
import { accessibilityFaultsInBoth } from '../../support/axe.ts'
import { openBrowser } from '../../support/chromium.ts'
import { serveConsole, type ServedConsole } from '../../support/served-console.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const recorded = fileURLToPath(new URL('finding.json', import.meta.url))
const markup = `<img src=x onerror="globalThis.wasRun=1"><b class="hostile">'"&amp;`
const timeout = 60_000

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

const choose = async (page: Page, file: string): Promise<void> =>
  await page.getByLabel(/Finding of skiff explore/).setInputFiles(file, { timeout })

function fileOf(name: string, text: string | Buffer): string {
  const file = join(temporaryFolder('findings'), name)
  writeFileSync(file, text)
  return file
}

it('shows both runs beside each other, and marks the first difference', async () => {
  const page = await served.open(browser, '#/lab', { viewport: { width: 1200, height: 800 } })
  await choose(page, recorded)
  const finding = page.getByRole('region', { name: 'Finding', exact: true })
  await finding
    .getByRole('heading', { name: /^After step 1: Secret default\/app-a-\* was made twice, with/ })
    .waitFor({ timeout })
  const ends = finding.getByRole('region', { name: 'Differences at the end' })
  expect(await ends.getByRole('row').last().innerText()).toMatch(
    /^1\s+Secret default\/app-a-\* #2\s+is there once\s+was made twice$/,
  )
  const rows = finding.getByRole('table').last().getByRole('row')
  const texts = (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim())
  expect(texts).toEqual([
    'Reference, without faults Plan',
    '0.02 s the controller starts 0.01 s the controller starts',
    '0.25 s step 1: create ConfigMap app-a 0.10 s step 1: create ConfigMap app-a',
    'First difference',
    '0.29 s create secrets default/app-a-* 201 0.12 s create secrets default/app-a-* 201 fault: killed after',
    'nothing 0.12 s the controller is killed',
    'nothing 0.12 s the controller starts',
    'nothing 0.14 s create secrets default/app-a-* 201',
    '0.32 s update configmaps default/app-a 200 0.15 s update configmaps default/app-a 200',
    '0.53 s step 2: patch ConfigMap app-a nothing',
  ])
  const replay = finding.getByRole('region', { name: 'Command that replays the plan' })
  expect(await replay.innerText()).toBe("skiff explore replay finding.yaml --controller 'COMMAND'")
  expect(await accessibilityFaultsInBoth(page)).toEqual([])
  await page.context().close()
})

it('goes to the first difference with the keyboard, also on a phone', async () => {
  const page = await served.open(browser, '#/lab', { viewport: { width: 360, height: 640 } })
  await choose(page, recorded)
  await page.getByRole('button', { name: 'Show the first difference' }).focus()
  await page.keyboard.press('Enter')
  expect(await page.evaluate('document.activeElement.textContent')).toBe('First difference')
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  expect(await accessibilityFaultsInBoth(page)).toEqual([])
  await page.context().close()
})

it('takes a file that is dropped', async () => {
  const page = await served.open(browser, '#/lab')
  const section = page.getByRole('region', { name: 'Findings' })
  const dropped = await page.evaluateHandle(
    `(() => {
      const data = new DataTransfer()
      data.items.add(new File([${JSON.stringify(readFileSync(recorded, 'utf8'))}], 'one.json'))
      return data
    })()`,
  )
  await section.dispatchEvent('drop', { dataTransfer: dropped }, { timeout })
  await section.getByText('What is different at the end').waitFor({ timeout })
  await page.context().close()
})

it('says why a file is no finding, and shows the next one', async () => {
  const page = await served.open(browser, '#/lab')
  const says = async (text: string): Promise<void> =>
    await page.getByRole('alert').filter({ hasText: text }).waitFor({ timeout })
  await choose(page, fileOf('plan.yaml', 'story: ../story.yaml\n'))
  await says('plan.yaml is not a finding of skiff explore. It is not JSON.')
  await choose(page, fileOf('package.json', '{"name":"x"}'))
  await says('plan must be an object, not nothing.')
  await choose(page, fileOf('huge.json', Buffer.alloc(50_000_000, 32)))
  await says('It has 50 MB; a finding has at most 10 MB.')
  expect(await accessibilityFaultsInBoth(page)).toEqual([])
  await choose(page, recorded)
  await page.getByText('What is different at the end').waitFor({ timeout })
  expect(await page.getByText('is not a finding').count()).toBe(0)
  await page.context().close()
})

/** Every text is markup; kinds that the page acts on stay, once with each other shape of a finding. */
function hostileFinding(): string {
  const document = JSON.parse(readFileSync(recorded, 'utf8')) as object
  const spoil = (value: unknown): unknown => {
    if (typeof value === 'string') return markup
    if (Array.isArray(value)) return value.map(spoil)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, one]) => [
        [key, spoil(one)],
        ...(key === 'kind' ? [[markup, markup]] : []),
      ]),
    )
  }
  const wrong = { step: 1, text: markup, object: markup, path: markup }
  const values = { expected: { [markup]: markup }, actual: [markup] }
  return JSON.stringify({
    ...(spoil(document) as object),
    findings: [
      { kind: 'differs', ...wrong, ...values },
      { kind: markup, ...wrong },
      { kind: 'ends', step: 1, text: markup, output: [markup] },
    ],
  })
}

it('runs and fetches nothing of a file full of markup', async () => {
  const page = await served.open(browser, '#/lab')
  await page.getByRole('region', { name: 'Findings' }).waitFor({ timeout })
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await choose(page, fileOf('hostile.json', hostileFinding()))
  const finding = page.getByRole('region', { name: 'Finding', exact: true })
  await finding.getByRole('heading', { name: markup }).waitFor({ timeout })
  await finding.getByRole('button', { name: 'Show the first difference' }).click({ timeout })
  expect(await finding.getByText(markup).count()).toBeGreaterThan(15)
  expect(await page.locator('.hostile, img[src="x"], .finding a').count()).toBe(0)
  expect(await page.evaluate(() => 'wasRun' in globalThis)).toBe(false)
  expect(asked).toEqual([])
  await page.context().close()
})
