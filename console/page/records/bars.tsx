/** Bars: a small chart of values over time. */

interface BarsProps {
  readonly values: readonly number[]
  /** What a screen reader says of it. */
  readonly label: string
}

const height = 36
const step = 4

export function Bars({ values, label }: BarsProps) {
  const most = Math.max(1, ...values)
  const width = values.length * step
  return (
    <svg
      class="bars"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
    >
      {values.map((value, index) => {
        const tall = Math.round((value / most) * height)
        return (
          <rect key={index} x={index * step} y={height - tall} width={step - 1} height={tall} />
        )
      })}
    </svg>
  )
}
