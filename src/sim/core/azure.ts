/**
 * Published round trips between Azure regions, P95 in milliseconds: Microsoft, "Azure network round-trip latency statistics",
 * 30-day window ending 2026-07-30 (azure-docs, articles/networking/azure-network-latency.md). Row: source; column:
 * destination. The diagonal is not published: 1 stands for "within the region".
 *
 * P95 values are no distribution. Here a message's time is taken to be log-normal with a spread of {@link SPREAD}, which
 * puts the median at P95 / exp(1.645 x SPREAD); one way is half a round trip.
 */
export const AZURE_REGIONS = [
  'East US',
  'East US 2',
  'West US',
  'West US 2',
  'Central US',
  'South Central US',
  'Brazil South',
  'West Europe',
  'North Europe',
  'UK South',
  'Sweden Central',
  'South Africa North',
  'UAE North',
  'Central India',
  'Southeast Asia',
  'East Asia',
  'Japan East',
  'Korea Central',
  'Australia East',
] as const;

export const AZURE_P95_MS: readonly (readonly number[])[] = [
  [1, 11, 74, 75, 35, 44, 119, 89, 74, 80, 110, 226, 190, 214, 229, 207, 165, 191, 207],
  [11, 1, 71, 71, 41, 33, 121, 93, 79, 87, 115, 222, 194, 219, 232, 208, 167, 192, 224],
  [72, 71, 1, 26, 42, 38, 171, 151, 138, 144, 169, 279, 249, 224, 172, 151, 110, 134, 142],
  [76, 71, 25, 1, 41, 58, 179, 147, 135, 144, 165, 284, 255, 218, 165, 144, 102, 128, 179],
  [35, 42, 41, 41, 1, 30, 154, 118, 107, 117, 142, 253, 212, 247, 201, 183, 141, 165, 178],
  [47, 42, 44, 57, 29, 1, 142, 127, 113, 120, 146, 252, 228, 246, 211, 183, 140, 164, 172],
  [121, 121, 170, 179, 155, 142, 1, 191, 176, 184, 209, 327, 293, 320, 337, 315, 265, 289, 298],
  [91, 94, 153, 153, 114, 126, 189, 1, 20, 13, 31, 171, 123, 153, 182, 278, 240, 267, 282],
  [76, 79, 137, 136, 107, 112, 176, 19, 1, 15, 40, 178, 131, 160, 236, 266, 232, 255, 272],
  [80, 87, 144, 145, 112, 118, 183, 12, 14, 1, 36, 169, 122, 151, 183, 274, 235, 261, 277],
  [108, 114, 168, 165, 142, 143, 204, 31, 37, 34, 1, 200, 148, 174, 206, 259, 258, 284, 303],
  [225, 222, 278, 285, 251, 250, 326, 171, 178, 169, 196, 1, 104, 134, 211, 272, 255, 255, 348],
  [191, 194, 257, 256, 212, 229, 288, 124, 130, 122, 149, 105, 1, 34, 87, 119, 155, 153, 182],
  [218, 220, 224, 218, 245, 249, 320, 153, 159, 150, 179, 134, 35, 1, 59, 95, 129, 127, 152],
  [229, 232, 171, 165, 201, 203, 337, 181, 236, 183, 256, 190, 90, 58, 1, 40, 74, 72, 98],
  [208, 209, 152, 146, 181, 177, 315, 279, 265, 274, 265, 272, 120, 96, 41, 1, 53, 43, 128],
  [165, 168, 109, 103, 139, 140, 275, 242, 232, 237, 260, 254, 155, 129, 74, 51, 1, 35, 105],
  [192, 192, 133, 127, 163, 165, 296, 267, 255, 262, 286, 250, 153, 126, 71, 41, 36, 1, 132],
  [206, 224, 141, 180, 178, 194, 298, 282, 272, 277, 307, 347, 179, 151, 98, 127, 105, 137, 1],
];

export const SPREAD = 0.1;

export const P95_OVER_MEDIAN = Math.exp(1.645 * SPREAD);

/** The median one-way time between two regions by their place in {@link AZURE_REGIONS}. */
export function azureOneWayMs(from: number, to: number): number {
  return AZURE_P95_MS[from]![to]! / P95_OVER_MEDIAN / 2;
}
