/** Durations as Go writes them, `1h2m3.5s`, and as protobuf carries them, in nanoseconds (upstream: apimachinery meta/v1/duration.go). */

const nanosOf = { h: 3.6e12, m: 6e10, s: 1e9, ms: 1e6, us: 1e3, µs: 1e3, ns: 1 } as const
const wellFormed = /^-?(?:0|(?:\d+(?:\.\d+)?(?:h|ms|m|s|us|µs|ns))+)$/

/** Whether Go reads the text as a duration. */
export function isDuration(text: string): boolean {
  return wellFormed.test(text)
}

/** 0 for a text of another form. */
export function durationNanos(text: string): number {
  if (!wellFormed.test(text)) return 0
  let nanos = 0
  for (const [, amount = '', unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/g)) {
    nanos += Number(amount) * nanosOf[unit as keyof typeof nanosOf]
  }
  return Math.round(text.startsWith('-') ? -nanos : nanos)
}

/** Below a second in the largest unit that fits, else hours, minutes and seconds. */
export function durationText(nanos: number): string {
  if (nanos === 0) return '0s'
  if (nanos < 0) return `-${durationText(-nanos)}`
  for (const unit of ['ns', 'µs', 'ms'] as const) {
    if (nanos < nanosOf[unit] * 1000) return `${nanos / nanosOf[unit]}${unit}`
  }
  const hours = Math.floor(nanos / nanosOf.h)
  const minutes = Math.floor((nanos % nanosOf.h) / nanosOf.m)
  const seconds = (nanos % nanosOf.m) / nanosOf.s
  const parts = [hours > 0 ? `${hours}h` : '', hours > 0 || minutes > 0 ? `${minutes}m` : '']
  return `${parts.join('')}${seconds}s`
}
