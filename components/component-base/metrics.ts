/**
 * Metrics: counters, gauges and histograms by name and labels, shown as Prometheus text. Adding to one is a few additions;
 * all other work is done when they are shown. Each has a stability level, and may be deprecated, hidden and gone by release.
 */

export type Stability = 'ALPHA' | 'BETA' | 'STABLE'

export interface MetricOptions {
  /** Upstream's name where it has one. */
  readonly name: string
  readonly help: string
  /** Default ALPHA: no promise. */
  readonly stability?: Stability
  readonly labels?: readonly string[]
  /** The release (`1.31`) it is deprecated from. */
  readonly deprecatedFrom?: string
}

type MetricKind = 'counter' | 'gauge' | 'histogram'

/** A metric as it was declared. */
export interface DeclaredMetric extends MetricOptions {
  readonly kind: MetricKind
}

export interface Counter {
  inc(by?: number): void
}

export interface Gauge {
  set(value: number): void
  inc(by?: number): void
  dec(by?: number): void
}

export interface Histogram {
  /** `times`: how often the value was seen, by default once. */
  observe(value: number, times?: number): void
}

/** A metric with labels. Keep what `with` returns where it is used often: it is the same value each time. */
export interface Family<M> {
  /** One value for each label, in the order of declaration. */
  with(...values: string[]): M
  /** Drops all its series. */
  reset(): void
}

/** A value asked for when the metrics are shown, with its label values. */
export type Sample = { readonly labels?: readonly string[]; readonly value: number }

export interface Metrics {
  counter(options: MetricOptions): Family<Counter> & Counter
  gauge(options: MetricOptions): Family<Gauge> & Gauge
  /** `refresh` is called before it is shown: for values that are observed over time. */
  histogram(
    options: MetricOptions & { buckets: readonly number[]; refresh?: () => void },
  ): Family<Histogram> & Histogram
  /** A metric whose values are asked for when it is shown. */
  observed(
    options: MetricOptions & { kind: 'counter' | 'gauge' },
    read: () => Iterable<Sample>,
  ): void
  /** The text exposition, version 0.0.4, in order of names. */
  text(): string
  /** All declared metrics, shown or not: for checks of names and stability levels. */
  readonly declared: readonly DeclaredMetric[]
  /** The metrics shown in this release. */
  readonly shown: readonly MetricOptions[]
}

/** `count` bounds, each `factor` times the one before. */
export function exponentialBuckets(first: number, factor: number, count: number): number[] {
  const bounds: number[] = []
  for (let bound = first; bounds.length < count; bound *= factor) bounds.push(bound)
  return bounds
}

/** The content type of `text()`. */
export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8'

function minorOf(release: string): number {
  return Number(release.split('.')[1])
}

/** Hidden from the third release after the deprecation, gone from the fourth. */
export function metricState(
  deprecatedFrom: string | undefined,
  release: string,
): 'shown' | 'hidden' | 'gone' {
  if (deprecatedFrom === undefined) return 'shown'
  const age = minorOf(release) - minorOf(deprecatedFrom)
  if (age >= 4) return 'gone'
  return age === 3 ? 'hidden' : 'shown'
}

/** Why a value of --show-hidden-metrics-for-version is unfit; undefined when it fits: only the previous release does. */
export function showHiddenFault(version: string, release: string): string | undefined {
  const previous = `1.${minorOf(release) - 1}`
  return version === previous || version === ''
    ? undefined
    : `--show-hidden-metrics-for-version must be omitted or have the value '${previous}'. Only the previous minor version is allowed`
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

function labelText(names: readonly string[], values: readonly string[], more = ''): string {
  const parts = names.map((name, index) => `${name}="${escapeLabel(values[index] ?? '')}"`)
  if (more !== '') parts.push(more)
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

/** A bound as Go prints it, since queries name it by its text: `0.5`, `1e-05`, `1e+06`. */
function boundText(bound: number): string {
  const [digits = '', power = ''] = bound.toExponential().split('e')
  const exponent = Number(power)
  if (exponent >= -4 && exponent < 6) return String(bound)
  const sign = exponent < 0 ? '-' : '+'
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}

interface Series<M> {
  readonly values: readonly string[]
  readonly metric: M
  /** Its lines, without a newline at the end. */
  readonly lines: (name: string, labels: readonly string[], values: readonly string[]) => string
}

class Value implements Counter, Gauge {
  value = 0
  inc(by = 1): void {
    this.value += by
  }
  dec(by = 1): void {
    this.value -= by
  }
  set(value: number): void {
    this.value = value
  }
}

class Buckets implements Histogram {
  readonly bounds: readonly number[]
  readonly counts: number[]
  sum = 0
  count = 0
  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = bounds.map(() => 0)
  }
  observe(value: number, times = 1): void {
    this.sum += value * times
    this.count += times
    const { bounds, counts } = this
    for (let index = 0; index < bounds.length; index += 1) {
      if (value <= (bounds[index] as number)) {
        counts[index] = (counts[index] as number) + times
        return
      }
    }
  }
  lines(name: string, labels: readonly string[], values: readonly string[]): string {
    const lines: string[] = []
    let total = 0
    for (const [index, bound] of this.bounds.entries()) {
      total += this.counts[index] ?? 0
      lines.push(`${name}_bucket${labelText(labels, values, `le="${boundText(bound)}"`)} ${total}`)
    }
    lines.push(`${name}_bucket${labelText(labels, values, 'le="+Inf"')} ${this.count}`)
    lines.push(`${name}_sum${labelText(labels, values)} ${numberText(this.sum)}`)
    lines.push(`${name}_count${labelText(labels, values)} ${this.count}`)
    return lines.join('\n')
  }
}

interface Entry {
  readonly options: MetricOptions
  readonly kind: MetricKind
  readonly lines: () => string[]
}

/** An empty set of metrics for a process of this release. */
export function createMetrics(options: { release: string; showHidden?: boolean }): Metrics {
  const entries = new Map<string, Entry>()
  const declare = (entry: Entry): void => {
    if (entries.has(entry.options.name))
      throw new Error(`metric ${entry.options.name} is declared twice`)
    entries.set(entry.options.name, entry)
  }
  const isShown = ({ deprecatedFrom }: MetricOptions): boolean => {
    const state = metricState(deprecatedFrom, options.release)
    return state === 'shown' || (state === 'hidden' && options.showHidden === true)
  }
  return {
    counter: (declared) => {
      const { entry, own, ...rest } = createFamily(declared, 'counter', valueSeries)
      declare(entry)
      return { ...rest, inc: (by) => own().inc(by) }
    },
    gauge: (declared) => {
      const { entry, own, ...rest } = createFamily(declared, 'gauge', valueSeries)
      declare(entry)
      return {
        ...rest,
        set: (to) => own().set(to),
        inc: (by) => own().inc(by),
        dec: (by) => own().dec(by),
      }
    },
    histogram: ({ buckets, refresh, ...declared }) => {
      const series = () => bucketSeries(buckets)
      const { entry, own, ...rest } = createFamily(declared, 'histogram', series)
      const lines = (): string[] => {
        refresh?.()
        return entry.lines()
      }
      declare({ ...entry, lines })
      return { ...rest, observe: (observed, times) => own().observe(observed, times) }
    },
    observed: ({ kind, ...declared }, read) => {
      const lines = () => [...read()].map((sample) => sampleLine(declared, sample))
      declare({ options: declared, kind, lines })
    },
    text: () =>
      [...entries.keys()]
        .toSorted()
        .map((name) => entries.get(name) as Entry)
        .filter((entry) => isShown(entry.options))
        .map(blockOf)
        .join(''),
    get declared() {
      return [...entries.values()].map(({ options: one, kind }) => ({ ...one, kind }))
    },
    get shown() {
      return [...entries.values()].map((entry) => entry.options).filter(isShown)
    },
  }
}

type NewSeries<M> = Pick<Series<M>, 'metric' | 'lines'>

function valueSeries(): NewSeries<Value> {
  const metric = new Value()
  const lines: Series<Value>['lines'] = (name, labels, values) =>
    `${name}${labelText(labels, values)} ${numberText(metric.value)}`
  return { metric, lines }
}

function bucketSeries(bounds: readonly number[]): NewSeries<Buckets> {
  const metric = new Buckets(bounds)
  return { metric, lines: (name, labels, values) => metric.lines(name, labels, values) }
}

/** The series of one metric, by their labels' values. */
function createFamily<M>(declared: MetricOptions, kind: Entry['kind'], make: () => NewSeries<M>) {
  const { name, labels = [] } = declared
  const series = new Map<string, Series<M>>()
  const seriesOf = (values: readonly string[]): M => {
    const key = values.length === 1 ? (values[0] as string) : values.join('\u0000')
    const known = series.get(key)
    if (known !== undefined) return known.metric
    if (values.length !== labels.length)
      throw new Error(`metric ${name} has ${labels.length} labels, not ${values.length}`)
    const made = { values, ...make() }
    series.set(key, made)
    return made.metric
  }
  const entry: Entry = {
    options: declared,
    kind,
    lines: () => [...series.values()].map((one) => one.lines(name, labels, one.values)),
  }
  // A metric without labels always has its one series, shown from the start.
  const own = labels.length === 0 ? seriesOf([]) : undefined
  return {
    entry,
    with: (...values: string[]) => seriesOf(values),
    reset: () => series.clear(),
    own: (): M => {
      if (own === undefined) throw new Error(`metric ${name} needs its labels`)
      return own
    },
  }
}

function sampleLine({ name, labels = [] }: MetricOptions, sample: Sample): string {
  return `${name}${labelText(labels, sample.labels ?? [])} ${numberText(sample.value)}`
}

function helpOf({ help, stability = 'ALPHA', deprecatedFrom }: MetricOptions): string {
  const prefix = deprecatedFrom === undefined ? '' : `(Deprecated from ${deprecatedFrom}) `
  return `${prefix}[${stability}] ${help}`.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

/** A metric in the text format; empty without any series. */
function blockOf(entry: Entry): string {
  const { name } = entry.options
  const lines = entry.lines()
  if (lines.length === 0) return ''
  const head = `# HELP ${name} ${helpOf(entry.options)}\n# TYPE ${name} ${entry.kind}\n`
  return `${head}${lines.join('\n')}\n`
}

/** How many metrics there are, by level, and how many are hidden (upstream: component-base/metrics/registry.go). */
function declareMetricsOfMetrics(metrics: Metrics): void {
  metrics.observed(
    {
      kind: 'counter',
      name: 'registered_metrics_total',
      help: 'Metrics that are shown, by stability level and release of their deprecation.',
      stability: 'BETA',
      labels: ['stability_level', 'deprecated_version'],
    },
    () => {
      const counts = new Map<string, { labels: string[]; value: number }>()
      for (const { stability = 'ALPHA', deprecatedFrom = '' } of metrics.shown) {
        const key = `${stability} ${deprecatedFrom}`
        const count = counts.get(key) ?? { labels: [stability, deprecatedFrom], value: 0 }
        count.value += 1
        counts.set(key, count)
      }
      return counts.values()
    },
  )
  metrics.observed(
    {
      kind: 'counter',
      name: 'hidden_metrics_total',
      help: 'Metrics that are hidden because of their deprecation.',
      stability: 'BETA',
    },
    () => [{ value: metrics.declared.length - metrics.shown.length }],
  )
}

/** Metrics of every process: start, CPU, memory, and counts of its metrics. */
export function declareProcessMetrics(metrics: Metrics): void {
  declareMetricsOfMetrics(metrics)
  const startedAt = Date.now() / 1000 - process.uptime()
  const observe = (kind: 'counter' | 'gauge', name: string, help: string, read: () => number) =>
    metrics.observed({ kind, name, help }, () => [{ value: read() }])
  observe(
    'gauge',
    'process_start_time_seconds',
    'Start time of the process since the epoch.',
    () => startedAt,
  )
  observe('counter', 'process_cpu_seconds_total', 'Total user and system CPU time spent.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  observe('gauge', 'process_resident_memory_bytes', 'Resident memory size in bytes.', () =>
    process.memoryUsage.rss(),
  )
  observe(
    'gauge',
    'nodejs_heap_used_bytes',
    'Heap in use in bytes.',
    () => process.memoryUsage().heapUsed,
  )
}
