/** When releases came out: what a span such as "9 months or 3 releases" is counted with. */

/** Year and month of each release of major version 1, from 1.0 on. */
const months = [
  ['2015-07', '2015-11', '2016-03', '2016-07', '2016-09', '2016-12', '2017-03', '2017-06'],
  ['2017-09', '2017-12', '2018-03', '2018-06', '2018-09', '2018-12', '2019-03', '2019-06'],
  ['2019-09', '2019-12', '2020-03', '2020-08', '2020-12', '2021-04', '2021-08', '2021-12'],
  ['2022-05', '2022-08', '2022-12', '2023-04', '2023-08', '2023-12', '2024-04', '2024-08'],
  ['2024-12'],
].flat()

/** Releases that are still to come are this far apart: three a year. */
const monthsPerRelease = 4

/** A time that something has to last: the longer one of both counts. */
export interface Span {
  readonly months: number
  readonly releases: number
}

function minorOf(release: string): number {
  const [, minor] = /^1\.(\d+)$/.exec(release) ?? []
  if (minor === undefined) throw new Error(`no release ${release}`)
  return Number(minor)
}

/** Months since the year 0. */
function monthOf(minor: number): number {
  const known = Math.min(minor, months.length - 1)
  const [year, month] = (months[known] ?? '').split('-').map(Number)
  return (year ?? 0) * 12 + (month ?? 0) + (minor - known) * monthsPerRelease
}

/** How far `to` comes after `from`; negative when it comes before. Both are `1.minor`. */
export function spanBetween(from: string, to: string): Span {
  const [first, last] = [minorOf(from), minorOf(to)]
  return { months: monthOf(last) - monthOf(first), releases: last - first }
}

/** Whether a span is as long as `needed`: in months and in releases. */
export function lasts(span: Span, needed: Span): boolean {
  return span.months >= needed.months && span.releases >= needed.releases
}

/** The release that many releases later: `1.31`, 1 -> `1.32`. */
export function releaseAfter(release: string, count: number): string {
  return `1.${minorOf(release) + count}`
}
