/** Diagrams: what is drawn, and that no text of a cluster becomes markup. */
import { renderMermaidSVG } from 'beautiful-mermaid'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { growFamily } from '../../../console/family/family.ts'
import { clusterMermaid } from '../../../console/graph/cluster-mermaid.ts'
import { pictureOf, type ClusterPicture } from '../../../console/graph/cluster-picture.ts'
import { clusterSvg } from '../../../console/graph/cluster-svg.ts'
import { familyForest, type ForestBox } from '../../../console/graph/forest.ts'
import { forestMermaid } from '../../../console/graph/forest-mermaid.ts'
import { forestSvg } from '../../../console/graph/forest-svg.ts'
import { readTimelines } from '../../../console/graph/timeline.ts'
import { timelineMermaid } from '../../../console/graph/timeline-mermaid.ts'
import { timelineSvg } from '../../../console/graph/timeline-svg.ts'
import type { SlimNode, SlimPod } from '../../../console/protocol/live.ts'
import { parseSvg } from './parse-svg.ts'

const evil = '"]><script x="1">alert(1)</script>&amp;]]>\u0000`#'
/** Control characters are escaped as everywhere on the command line. */
const shownEvil = evil.replace('\u0000', '\\u0000')

const forest = (name: string): ForestBox[] => {
  const objects: KubeObject[] = [
    { kind: 'Deployment', metadata: { name, uid: 'd', namespace: 'shop' } },
    {
      kind: 'ReplicaSet',
      metadata: {
        name: 'web-1',
        uid: 'r',
        namespace: 'shop',
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name, uid: 'd' }],
      },
      spec: { replicas: 2 },
      status: { readyReplicas: 1 },
    },
  ]
  return familyForest(growFamily(objects.slice(0, 1), objects, 10).roots, 'shop')
}

const node = (name: string, more: Partial<SlimNode> = {}): SlimNode => ({
  name,
  uid: name,
  ready: 'True',
  trouble: [],
  taints: [],
  unschedulable: false,
  maxPods: 110,
  cpuMilli: 1000,
  memoryBytes: 1,
  ...more,
})
const pod = (key: string, on: string, more: Partial<SlimPod> = {}): SlimPod => ({
  key,
  uid: key,
  node: on,
  status: 'Running',
  ready: true,
  restarts: 0,
  ...more,
})
const owner = 'ReplicaSet/web-1'
const picture = (title: string): ClusterPicture =>
  pictureOf(title, {
    parts: [{ name: 'api-server', text: 'ready', health: 'good' }],
    nodes: [node('n2', { ready: 'Unknown' }), node('n1')],
    pods: [
      pod('shop/b', 'n1', { owner }),
      pod('shop/a', 'n1', { owner, status: 'CrashLoopBackOff', ready: false }),
      pod('shop/alone', 'n1'),
      pod('shop/waits', '', { status: 'Pending', ready: false }),
    ],
  })

const step = (title: string, kind: string, more: object = {}) => ({
  title,
  kind,
  outcome: 'passed',
  durationMs: 1000,
  notes: [],
  failure: [],
  ...more,
})
const report = (title: string): string =>
  JSON.stringify({
    passed: 0,
    failed: 1,
    scenarios: [
      {
        name: title,
        outcome: 'failed',
        durationMs: 4000,
        steps: [
          step('create it', 'create'),
          step('kill api-server', 'component', { durationMs: 500 }),
          step(title, 'expect', { outcome: 'failed', failure: ['it did not hold', 'more'] }),
          step('never', 'expect', { outcome: 'not run', durationMs: 0 }),
        ],
      },
    ],
  })

const svgs: Readonly<Record<string, (text: string) => string>> = {
  family: (text) => forestSvg(text, forest(text)),
  cluster: (text) => clusterSvg(picture(text)),
  timeline: (text) => timelineSvg(readTimelines(report(text), 'report')),
}

describe.each(Object.entries(svgs))('the SVG of a %s', (_, draw) => {
  it('is well-formed, and keeps a name full of markup as text', () => {
    const { texts, tooltips, elements } = parseSvg(draw(evil))
    expect([...texts, ...tooltips].some((one) => one.includes(shownEvil))).toBe(true)
    expect(elements).not.toContain('script')
  })

  it('refers to nothing outside itself', () => {
    const text = draw('https://example.com/a.png')
    const { elements, attributes, style } = parseSvg(text)
    expect([...elements].filter((one) => /image|use|script|foreign|link|^a$/.test(one))).toEqual([])
    expect([...attributes].filter((one) => /href|src|style|^on/.test(one))).toEqual([])
    expect(style).not.toMatch(/@import|url\(|http/)
  })

  it('has colours for light and dark', () => {
    expect(parseSvg(draw('a')).style).toContain('@media (prefers-color-scheme:dark)')
  })

  it('is the same each time', () => {
    expect(draw('a')).toBe(draw('a'))
  })
})

describe('diagrams', () => {
  it('show the family of an object with states', () => {
    const { texts } = parseSvg(forestSvg('deployment web', forest('web')))
    expect(texts).toEqual(['deployment web', 'Deployment/web', 'ReplicaSet/web-1', '1/2 ready'])
  })

  it('show a cluster: parts, nodes by name, and pods by owner with the worst of their states', () => {
    const { texts } = parseSvg(clusterSvg(picture('lab')))
    expect(texts).toEqual([
      'lab',
      'api-server',
      'ready',
      'n1',
      'Ready',
      'Pod shop/alone',
      'Running',
      'ReplicaSet shop/web-1 ×2',
      '1 CrashLoopBackOff, 1 Running',
      'n2',
      'Unknown',
      'no node',
      'pods without a node',
      'Pod shop/waits',
      'Pending',
    ])
  })

  it('draw 200 nodes and 12 owners on each, and say what they leave out', () => {
    const nodes = Array.from({ length: 300 }, (_, index) => node(`n${index}`))
    const pods = Array.from({ length: 20 }, (_, index) => pod(`shop/p${index}`, 'n0'))
    const { texts } = parseSvg(clusterSvg(pictureOf('lab', { parts: [], nodes, pods })))
    expect(texts).toContain('100 more nodes are not drawn')
    expect(texts).toContain('8 more owners')
  })

  it('show when steps ran, what they are for, and why one failed', () => {
    const { texts } = parseSvg(timelineSvg(readTimelines(report('it holds'), 'report')))
    expect(texts).toEqual([
      'it holds: failed',
      '0.00 s',
      '0.63 s',
      '1.25 s',
      '1.88 s',
      '2.50 s',
      '✓ create it',
      '1.00 s',
      '✓ fault: kill api-server',
      '0.50 s',
      '✗ check: it holds',
      '1.00 s: it did not hold',
      '· check: never',
    ])
  })

  it('cut long texts and keep them as tooltips', () => {
    const long = 'x'.repeat(100)
    const { texts, tooltips } = parseSvg(forestSvg('a', forest(long)))
    expect(texts).toContain(`Deployment/${'x'.repeat(49)}…`)
    expect(tooltips).toContain(`Deployment/${long}`)
  })

  it.each([
    'nonsense',
    '{}',
    '{"scenarios":[{}]}',
    '{"scenarios":[{"name":"a","outcome":"passed","steps":[null]}]}',
  ])('reject %s as a report', (text) => {
    expect(() => readTimelines(text, 'FILE')).toThrow('FILE is not a report of scenarios')
  })
})

describe('Mermaid', () => {
  const charts: Readonly<Record<string, (text: string) => string>> = {
    family: (text) => forestMermaid(forest(text)),
    cluster: (text) => clusterMermaid(picture(text)),
    timeline: (text) => timelineMermaid(readTimelines(report(text), 'report')),
  }
  const decoded = (text: string): string =>
    text.replaceAll(/#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))

  it.each(Object.entries(charts))('of a %s has names full of markup as entity codes', (_, draw) => {
    const chart = draw(evil)
    expect(decoded(chart)).toContain(shownEvil)
    expect(chart).not.toMatch(/<script|`|&|'/)
    expect(draw('a').split('\n')).toHaveLength(chart.split('\n').length)
  })

  it('of a family draws owners as edges', () => {
    expect(forestMermaid(forest('web'))).toBe(
      [
        'graph LR',
        '  o1["Deployment/web"]',
        '  o2["ReplicaSet/web-1<br/>1/2 ready"]:::waiting',
        '  o1 --> o2',
        '  classDef good stroke:#2da44e',
        '  classDef waiting stroke:#bf8700',
        '  classDef bad stroke:#cf222e,stroke-width:2px',
        '',
      ].join('\n'),
    )
  })

  it('of a scenario is a Gantt chart of the steps that ran', () => {
    expect(timelineMermaid(readTimelines(report('it: holds'), 'report'))).toBe(
      [
        'gantt',
        '  dateFormat x',
        '  axisFormat %M:%S.%L',
        '  section it#58; holds failed',
        '  create it :0, 1000ms',
        '  fault kill api-server :active, 1000, 500ms',
        '  check it#58; holds :crit, 1500, 1000ms',
        '',
      ].join('\n'),
    )
  })

  it.each(['family', 'cluster'])(
    'of a %s is drawn by the renderer of the documentation',
    (name) => {
      expect(renderMermaidSVG(charts[name]?.('web') ?? '')).toContain('ReplicaSet')
    },
  )
})
